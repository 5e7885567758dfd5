// SPDX-License-Identifier: BSD-3-Clause
// Weighted random choice among the first ranks of a weighted ranking.
//
// Heavy servers are more often among a flow's first ranks. To choose among these by weight once more would count the weights
// twice. What counts them once: a weighted ranking is a draw without replacement, its first rank has each server with the
// probability weight / sum of weights, and so has a server that is drawn as the first rank would be, given only which servers
// the first ranks are, whatever their order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace asrp::policy {

inline constexpr std::size_t kMaxRankedDraw = 8;
using Shares = std::array<std::uint64_t, kMaxRankedDraw>;

/// For servers of these weights, of which it is known that they are the first of all, of weight `total` together: how probable
/// it is that each is the very first. Only the shares' ratios mean something; each is below 2^33. If the servers are all that
/// there are, these are the weights' ratios. Precondition: 1 to kMaxRankedDraw weights, none 0, their sum at most `total`.
Shares first_rank_shares(std::span<const std::uint32_t> weights, std::uint64_t total);

}  // namespace asrp::policy
