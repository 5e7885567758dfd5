// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/config_diff.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "asrp/policy/placement.hpp"

namespace asrp::node {
namespace {

constexpr std::size_t kRowsPerQuestion = 256;

/// What part of all sessions each server is the first choice of, by what the epoch goes by: those of the highest priority share
/// by their weights.
std::map<std::string, double> shares(const policy::Epoch& epoch) {
  std::uint32_t highest = 0;
  for (const policy::EpochMember& each : epoch.members)
    if (each.weight > 0) highest = std::max(highest, each.priority);
  double sum = 0;
  for (const policy::EpochMember& each : epoch.members)
    if (each.priority == highest) sum += each.weight;
  std::map<std::string, double> out;
  for (const policy::EpochMember& each : epoch.members)
    if (each.priority == highest && each.weight > 0) out[each.id] = each.weight / sum;
  return out;
}

const std::string* first_of(const policy::Ranking& ranking, std::uint16_t row) {
  std::uint16_t member = 0;
  return ranking.top(row, std::span(&member, 1)) == 0 ? nullptr : &ranking.id(member);
}

bool is_same(const policy::Epoch& a, const policy::Epoch& b) {
  const auto sorted = [](std::vector<policy::EpochMember> members) {
    std::sort(members.begin(), members.end(), [](const auto& x, const auto& y) { return x.id < y.id; });
    return members;
  };
  return a.key == b.key && sorted(a.members) == sorted(b.members);
}

}  // namespace

std::optional<PoolMove> pool_move(const policy::Epoch& before, const policy::Epoch& after,
                                  const std::function<bool()>& unwanted) {
  PoolMove out;
  const auto old_shares = shares(before);
  const auto new_shares = shares(after);
  double same_by_chance = 0;
  for (const auto& [id, share] : old_shares) {
    const auto found = new_shares.find(id);
    const double now = found == new_shares.end() ? 0 : found->second;
    out.minimum += std::max(0.0, share - now);
    same_by_chance += share * now;
  }
  if (before.key != after.key) {  // all flows have other rows
    out.counted = false;
    out.moved = old_shares.empty() ? 0 : 1 - same_by_chance;
    return out;
  }
  const policy::Ranking old_ranking(before, 1);
  const policy::Ranking new_ranking(after, 1);
  std::size_t moved = 0;
  for (std::size_t row = 0; row < policy::kRows; ++row) {
    if (row % kRowsPerQuestion == 0 && unwanted()) return std::nullopt;
    const std::string* const was = first_of(old_ranking, static_cast<std::uint16_t>(row));
    const std::string* const is = first_of(new_ranking, static_cast<std::uint16_t>(row));
    if (was != nullptr && (is == nullptr || *was != *is)) ++moved;
  }
  out.moved = static_cast<double>(moved) / policy::kRows;
  return out;
}

std::vector<PoolMove> pool_moves(const NodeConfig& now, const NodeConfig& next, const std::function<bool()>& unwanted) {
  std::map<std::string, const PoolConfig*> before;
  for (const PoolConfig& pool : now.pools) before[pool.name] = &pool;
  std::vector<PoolMove> out;
  for (const PoolConfig& pool : next.pools) {
    const auto found = before.find(pool.name);
    if (found == before.end()) continue;
    const policy::Epoch old_epoch = current_epoch(now, *found->second);
    const policy::Epoch new_epoch = current_epoch(next, pool);
    if (is_same(old_epoch, new_epoch)) continue;
    auto move = pool_move(old_epoch, new_epoch, unwanted);
    if (!move) break;
    move->pool = pool.name;
    out.push_back(std::move(*move));
  }
  return out;
}

}  // namespace asrp::node
