// SPDX-License-Identifier: BSD-3-Clause
#include "engine/server_choice.hpp"

#include <algorithm>
#include <array>

namespace asrp::engine {
namespace {

constexpr std::size_t kMostRanks = 16;  // what fits a RankSet; more than a query list has

using Ranks = std::array<std::uint16_t, kMostRanks>;

std::size_t listed(const ServiceState& service, const Tuple& client_side, Ranks& ranks) {
  return service.pool.ranks(client_side, std::span(ranks).first(std::min(service.pool.depth(), ranks.size())));
}

}  // namespace

std::optional<ServerChoice> choose_server(const ServiceState& service, policy::MemberSelector& selector, TimePoint now,
                                          const Tuple& client_side, RankSet tried) {
  Ranks ranks;
  std::size_t count = 0;
  const std::size_t all = listed(service, client_side, ranks);
  for (std::size_t i = 0; i < all; ++i) {
    if ((tried >> i & 1) == 0) ranks[count++] = ranks[i];
  }
  if (const auto choice = selector.choose(now, std::span(ranks).first(count))) return ServerChoice{*choice, false, false};
  const bool all_down = service.usable_count == 0;
  if (all_down && service.options->all_down == AllDown::drop) return std::nullopt;
  const std::vector<std::uint8_t>& able = all_down ? service.undrained : service.usable;
  if (all_down) {
    const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(count);
    const auto first = std::find_if(ranks.begin(), end, [&](std::uint16_t backend) { return able[backend] != 0; });
    if (first != end) return ServerChoice{*first, false, true};
  }
  if (tried != 0) return std::nullopt;
  const auto next = service.pool.best_of(client_side, able);
  if (!next) return std::nullopt;
  selector.choose(now, {&*next, 1});  // it has its turn, or its share of the load
  return ServerChoice{*next, true, all_down};
}

RankSet rank_of(const ServiceState& service, const Tuple& client_side, const Endpoint& server) {
  Ranks ranks;
  const std::size_t count = listed(service, client_side, ranks);
  for (std::size_t i = 0; i < count; ++i) {
    if (service.options->backends[ranks[i]].address == server) return static_cast<RankSet>(1u << i);
  }
  return 0;
}

}  // namespace asrp::engine
