// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/query_list.hpp"

#include <algorithm>

namespace asrp::policy {
namespace {

constexpr std::size_t kMaxDepth = 2 * kMaxCandidates;

Epoch make_epoch(std::span<const PoolServer> servers, const HashKey& key, bool with_joining) {
  Epoch epoch;
  epoch.key = key;
  for (const PoolServer& s : servers) {
    if (s.ranked || (with_joining && s.queried)) epoch.members.push_back({s.id, s.weight, s.priority});
  }
  sort_members(epoch);
  return epoch;
}

}  // namespace

Pool::Pool(std::span<const PoolServer> servers, const HashKey& key, std::span<const Epoch> past, std::size_t ranks)
    : current_(make_epoch(servers, key, false)), depth_(std::clamp<std::size_t>(ranks, 1, kMaxDepth)) {
  std::vector<std::uint16_t> by_id;  // those that may be asked
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (servers[i].queried) by_id.push_back(static_cast<std::uint16_t>(i));
  }
  std::sort(by_id.begin(), by_id.end(), [&](std::uint16_t a, std::uint16_t b) { return servers[a].id < servers[b].id; });
  add_epoch(current_, kMaxDepth, by_id, servers);  // the second round asks so many of its ranks
  const Epoch coming = make_epoch(servers, key, true);
  if (coming != current_) {
    add_epoch(coming, depth_, by_id, servers);
    first_past_ = 2;
  }
  for (const Epoch& epoch : past) add_epoch(epoch, depth_, by_id, servers);
  flags_.resize(epochs_[0].ranking.size());
}

void Pool::add_epoch(const Epoch& epoch, std::size_t kept, std::span<const std::uint16_t> by_id,
                     std::span<const PoolServer> servers) {
  Ranked ranked{Ranking(epoch, kept), {}};
  auto next = by_id.begin();  // members are in the order of their ids, too
  for (std::size_t m = 0; m < ranked.ranking.size(); ++m) {
    const std::string& id = ranked.ranking.id(m);
    while (next != by_id.end() && servers[*next].id < id) ++next;
    const bool found = next != by_id.end() && servers[*next].id == id;
    ranked.server.push_back(found ? *next : -1);
  }
  epochs_.push_back(std::move(ranked));
}

void Pool::append(QueryList& list, std::size_t epoch, std::span<const std::uint16_t> members) const {
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const std::int32_t server = epochs_[epoch].server[members[rank]];
    if (server < 0) continue;
    const auto end = list.servers.begin() + static_cast<std::ptrdiff_t>(list.count);
    if (std::find(list.servers.begin(), end, server) != end) continue;
    if (list.count == list.servers.size()) return;
    const bool past = epoch >= first_past_;
    list.claims[list.count] = {static_cast<std::uint8_t>(past ? epoch - first_past_ + 1 : 0), epoch > 0 && !past,
                               static_cast<std::uint8_t>(rank)};
    list.servers[list.count++] = static_cast<std::uint16_t>(server);
  }
}

// spec: 3.5.3-1 3.5.3-2 3.5.3-3 the same on every node, with the servers of former epochs, and bounded
QueryList Pool::query(const Tuple& client_side) const {
  QueryList list;
  std::array<std::uint16_t, kMaxDepth> members;
  const HashKey* key = nullptr;
  std::uint16_t row = 0;
  for (std::size_t epoch = 0; epoch < epochs_.size(); ++epoch) {
    const Ranking& ranking = epochs_[epoch].ranking;
    if (key == nullptr || *key != ranking.key()) {
      key = &ranking.key();
      row = placement_row(*key, client_side);
    }
    append(list, epoch, std::span(members).first(ranking.top(row, std::span(members).first(depth_))));
    if (list.count == list.servers.size()) break;
  }
  list.cut = list.count > kMaxCandidates;
  list.first_round = std::min(list.count, kMaxCandidates);
  if (epochs_[0].ranking.size() > depth_ && list.count < list.servers.size()) {
    const std::uint16_t current_row = placement_row(epochs_[0].ranking.key(), client_side);
    append(list, 0, std::span(members).first(epochs_[0].ranking.top(current_row, members)));
  }
  return list;
}

std::size_t Pool::ranks(const Tuple& client_side, std::span<std::uint16_t> out) const {
  const Ranked& current = epochs_[0];
  const std::size_t count = current.ranking.top(placement_row(current.ranking.key(), client_side), out);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::uint16_t>(current.server[out[i]]);
  return count;
}

std::optional<std::uint16_t> Pool::best_of(const Tuple& client_side, std::span<const std::uint8_t> takes_part) const {
  const Ranked& current = epochs_[0];
  for (std::size_t m = 0; m < flags_.size(); ++m) flags_[m] = takes_part[static_cast<std::size_t>(current.server[m])];
  const auto member = current.ranking.first(placement_row(current.ranking.key(), client_side), flags_);
  if (!member) return std::nullopt;
  return static_cast<std::uint16_t>(current.server[*member]);
}

std::optional<std::uint16_t> Pool::first(const Ranked& epoch, const Tuple& client_side) {
  std::uint16_t member;
  if (epoch.ranking.top(placement_row(epoch.ranking.key(), client_side), {&member, 1}) == 0) return std::nullopt;
  return member;
}

bool Pool::owner_changed(const Tuple& client_side) const {
  if (!has_past()) return false;
  const auto now = first(epochs_[0], client_side);
  const auto before = first(epochs_[first_past_], client_side);
  return !now || !before || epochs_[0].ranking.id(*now) != epochs_[first_past_].ranking.id(*before);
}

std::optional<std::uint16_t> Pool::former_owner(const Tuple& client_side) const {
  if (!owner_changed(client_side)) return std::nullopt;
  const auto before = first(epochs_[first_past_], client_side);
  if (!before || epochs_[first_past_].server[*before] < 0) return std::nullopt;
  return static_cast<std::uint16_t>(epochs_[first_past_].server[*before]);
}

}  // namespace asrp::policy
