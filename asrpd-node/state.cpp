// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/state.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "runtime/files.hpp"

namespace asrp::node {
namespace {

bool is_before(const policy::EpochMember& a, const policy::EpochMember& b) {
  return std::tie(a.id, a.weight, a.priority) < std::tie(b.id, b.weight, b.priority);
}

/// Newest first; of equal times, which two nodes may have, any order that is the same everywhere.
bool is_newer(const PastEpoch& a, const PastEpoch& b) {
  if (a.began != b.began) return a.began > b.began;
  if (a.epoch.key != b.epoch.key) return a.epoch.key < b.epoch.key;
  const auto& one = a.epoch.members;
  const auto& two = b.epoch.members;
  return std::lexicographical_compare(one.begin(), one.end(), two.begin(), two.end(), is_before);
}

/// Puts the past in order: each epoch once, with its last beginning, and none that is the present one.
void arrange(PoolState& pool) {
  std::sort(pool.past.begin(), pool.past.end(), is_newer);
  std::vector<PastEpoch> past;
  for (PastEpoch& each : pool.past) {
    const bool known = each.epoch == pool.current ||
                       std::any_of(past.begin(), past.end(), [&](const PastEpoch& p) { return p.epoch == each.epoch; });
    if (!known) past.push_back(std::move(each));
  }
  if (past.size() > kMaxPastEpochs) past.resize(kMaxPastEpochs);
  pool.past = std::move(past);
}

/// Cuts the oldest epochs, whosever they are.
void bound_members(State& state) {
  std::size_t members = 0;
  for (const PoolState& pool : state)
    for (const PastEpoch& past : pool.past) members += past.epoch.members.size();
  while (members > kMaxPastMembers) {
    PoolState* oldest = nullptr;
    for (PoolState& pool : state) {
      if (!pool.past.empty() && (oldest == nullptr || is_newer(oldest->past.back(), pool.past.back()))) oldest = &pool;
    }
    members -= oldest->past.back().epoch.members.size();
    oldest->past.pop_back();
  }
}

PoolState next_pool(const PoolState* before, const PoolConfig& pool, policy::Epoch current, BeginTime now) {
  PoolState out{pool.name, std::move(current), now, {}};
  if (before == nullptr) return out;
  std::set<std::string_view> ids;
  for (const engine::Backend& server : pool.servers) ids.insert(server.id);
  const auto keep = [&](const PastEpoch& past) {
    const auto& members = past.epoch.members;
    const auto configured = [&](const policy::EpochMember& member) { return ids.count(member.id) != 0; };
    if (std::any_of(members.begin(), members.end(), configured)) out.past.push_back(past);
  };
  // A clock that was set back makes no epoch older than the one before it.
  const bool same = out.current == before->current;
  out.began = same ? before->began : std::max(now, before->began + 1);
  keep({before->current, before->began});
  for (const PastEpoch& past : before->past) keep(past);
  arrange(out);
  return out;
}

std::string file_in(const std::string& directory) { return directory + "/epochs.json"; }
std::string given_file_in(const std::string& directory) { return directory + "/epochs.given.json"; }

}  // namespace

State next_state(const State& before, const NodeConfig& config, BeginTime now) {
  std::map<std::string_view, const PoolState*> known;
  for (const PoolState& pool : before) known.emplace(pool.pool, &pool);
  State out;
  for (const PoolConfig& pool : config.pools) {
    const auto found = known.find(pool.name);
    out.push_back(next_pool(found != known.end() ? found->second : nullptr, pool, current_epoch(config, pool), now));
  }
  bound_members(out);
  return out;
}

State merged_state(State state, const State& told) {
  for (const PoolState& theirs : told) {
    const auto mine = std::find_if(state.begin(), state.end(), [&](const PoolState& p) { return p.pool == theirs.pool; });
    if (mine == state.end()) {
      state.push_back(theirs);
      continue;
    }
    mine->past.insert(mine->past.end(), theirs.past.begin(), theirs.past.end());
    mine->past.push_back({theirs.current, theirs.began});
    for (const PastEpoch& past : mine->past)
      if (past.epoch == mine->current) mine->began = std::max(mine->began, past.began);
    arrange(*mine);
  }
  return state;
}

std::vector<PoolHistory> history_of(const State& state) {
  std::vector<PoolHistory> out;
  for (const PoolState& pool : state) {
    PoolHistory history{pool.pool, {}};
    for (const PastEpoch& past : pool.past) history.past.push_back(past.epoch);
    out.push_back(std::move(history));
  }
  return out;
}

namespace {

std::optional<State> read_state(const std::string& file, std::string& trouble) {
  const auto text = runtime::read_file(file);
  if (!text) {
    trouble = text.error().to_string() + "; former pools are not known";
    return std::nullopt;
  }
  if (!text->has_value()) return std::nullopt;
  if (auto state = parse_state(**text)) return state;
  std::error_code ignored;
  std::filesystem::rename(file, file + ".unreadable", ignored);
  trouble = file + " is damaged and was renamed to " + file + ".unreadable; former pools are not known";
  return std::nullopt;
}

}  // namespace

State load_state(const std::string& directory, std::string& trouble) {
  return read_state(file_in(directory), trouble).value_or(State{});
}

std::optional<State> load_given_state(const std::string& directory, std::string& trouble) {
  return read_state(given_file_in(directory), trouble);
}

void remove_given_state(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove(given_file_in(directory), ignored);
}

Result<Done, io::IoError> save_state(const std::string& directory, const State& state) {
  return runtime::write_file(file_in(directory), state_json(state));
}

}  // namespace asrp::node
