// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/state.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/files.hpp"

namespace asrp::node {
namespace {

using nlohmann::json;

bool is_same(const policy::Epoch& a, const policy::Epoch& b) {
  if (a.key != b.key || a.members.size() != b.members.size()) return false;
  // A set: the order in the file means nothing.
  return std::is_permutation(a.members.begin(), a.members.end(), b.members.begin());
}

bool has_configured_server(const policy::Epoch& epoch, const PoolConfig& pool) {
  return std::any_of(epoch.members.begin(), epoch.members.end(), [&](const policy::EpochMember& member) {
    return std::any_of(pool.servers.begin(), pool.servers.end(),
                       [&](const engine::Backend& server) { return server.id == member.id; });
  });
}

PoolState next_pool(const PoolState* before, const PoolConfig& pool, policy::Epoch current) {
  PoolState out{pool.name, std::move(current), {}};
  if (before == nullptr) return out;
  const auto keep = [&](const policy::Epoch& epoch) {
    const bool known = is_same(epoch, out.current) ||
                       std::any_of(out.past.begin(), out.past.end(), [&](const policy::Epoch& p) { return is_same(epoch, p); });
    if (!known && has_configured_server(epoch, pool) && out.past.size() < kMaxPastEpochs) out.past.push_back(epoch);
  };
  keep(before->current);
  for (const policy::Epoch& epoch : before->past) keep(epoch);
  return out;
}

json to_json(const policy::Epoch& epoch) {
  json members = json::array();
  for (const policy::EpochMember& member : epoch.members) members.push_back({{"id", member.id}, {"weight", member.weight}});
  return {{"key", to_hex(epoch.key)}, {"members", members}};
}

policy::Epoch epoch_from(const json& value) {
  policy::Epoch epoch;
  Buffer key;
  if (!from_hex(value.at("key").get<std::string>(), key) || key.size() != epoch.key.size())
    throw std::invalid_argument("a key is not 32 hexadecimal digits");
  std::copy(key.begin(), key.end(), epoch.key.begin());
  for (const json& member : value.at("members"))
    epoch.members.push_back({member.at("id").get<std::string>(), member.at("weight").get<std::uint32_t>()});
  return epoch;
}

std::string file_in(const std::string& directory) { return directory + "/epochs.json"; }

}  // namespace

State next_state(const State& before, const NodeConfig& config) {
  State out;
  for (const PoolConfig& pool : config.pools) {
    const auto found = std::find_if(before.begin(), before.end(), [&](const PoolState& p) { return p.pool == pool.name; });
    out.push_back(next_pool(found != before.end() ? &*found : nullptr, pool, current_epoch(config, pool)));
  }
  return out;
}

std::vector<PoolHistory> history_of(const State& state) {
  std::vector<PoolHistory> out;
  for (const PoolState& pool : state) out.push_back({pool.pool, pool.past});
  return out;
}

std::string state_json(const State& state) {
  json pools = json::array();
  for (const PoolState& pool : state) {
    json past = json::array();
    for (const policy::Epoch& epoch : pool.past) past.push_back(to_json(epoch));
    pools.push_back({{"pool", pool.pool}, {"current", to_json(pool.current)}, {"past", past}});
  }
  return json({{"version", 1}, {"pools", pools}}).dump(1) + "\n";
}

std::optional<State> parse_state(const std::string& text) {
  try {
    const json value = json::parse(text);
    if (value.at("version") != 1) return std::nullopt;
    State state;
    for (const json& pool : value.at("pools")) {
      PoolState out{pool.at("pool").get<std::string>(), epoch_from(pool.at("current")), {}};
      for (const json& epoch : pool.at("past")) out.past.push_back(epoch_from(epoch));
      state.push_back(std::move(out));
    }
    return state;
  } catch (const std::exception&) {  // nlohmann throws on whatever is not as expected
    return std::nullopt;
  }
}

State load_state(const std::string& directory, std::string& trouble) {
  const std::string file = file_in(directory);
  const auto text = runtime::read_file(file);
  if (!text) {
    trouble = text.error().to_string() + "; former pools are not known";
    return {};
  }
  if (!text->has_value()) return {};
  if (auto state = parse_state(**text)) return std::move(*state);
  std::error_code ignored;
  std::filesystem::rename(file, file + ".unreadable", ignored);
  trouble = file + " is damaged and was renamed to " + file + ".unreadable; former pools are not known";
  return {};
}

Result<Done, io::IoError> save_state(const std::string& directory, const State& state) {
  return runtime::write_file(file_in(directory), state_json(state));
}

}  // namespace asrp::node
