// SPDX-License-Identifier: BSD-3-Clause
// Where a new session goes: the policy's choice among the flow's first ranks that are usable (decisions 11, 29). A function of
// the service's state, so that the same code decides about a packet and explains what it would do.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/node_config.hpp"

namespace asrp::engine {

/// Ranks of the query list, a bit for each.
using RankSet = std::uint16_t;

struct ServerChoice {
  std::uint16_t backend = 0;
  bool outside_list = false;  // none of the first ranks can have it: a recovery will hardly ask there
  bool all_down = false;      // checks hold every server for down
};

/// The server for a new session of this flow, or nothing. `selector` chooses, and its account of turns goes on; it must know
/// the service's servers. `tried`: whose servers have refused the session already; then only the query list's other ranks
/// count, for behind it nobody would look for the session.
std::optional<ServerChoice> choose_server(const ServiceState& service, policy::MemberSelector& selector, TimePoint now,
                                          const Tuple& client_side, RankSet tried);

/// The rank of a server in the query list, as one bit; 0 if it has none there.
RankSet rank_of(const ServiceState& service, const Tuple& client_side, const Endpoint& server);

}  // namespace asrp::engine
