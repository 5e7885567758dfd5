// SPDX-License-Identifier: BSD-3-Clause
// What a run in ACT mode is made of: gateways, clients with and without a holder, outside servers, faults.
#pragma once

#include "asrp/engine/node_options.hpp"
#include "sim/addresses.hpp"
#include "sim/network.hpp"

namespace asrp::sim::act {

struct Plan {
  std::uint64_t seed = 1;
  std::size_t gateways = 10;
  std::size_t clients = 1000;
  std::size_t servers = 20;
  std::size_t sessions = 2000;
  Duration arrivals = std::chrono::seconds(10);  // sessions begin evenly over this time
  Duration faults = std::chrono::seconds(20);    // faults end after this time
  Impairment impairment{.lost_per_mille = 20, .doubled_per_mille = 20, .late_per_mille = 20, .error_per_mille = 5};
  std::size_t udp_percent = 30;
  std::size_t v6_percent = 20;            // there each client has an outside address of its own
  std::size_t idle_percent = 20;          // sessions that are silent for long, and at last one end speaks
  std::size_t reuse_percent = 10;         // sessions that use the port of one that has ended
  std::size_t no_holder_percent = 0;      // clients without a holder
  bool symmetric_paths = false;           // routers of both sides choose by client; always so for clients without a holder
  std::uint32_t ports_per_client = 1024;  // of which each gateway takes one in 16
  bool answers_return = false;            // answers come to the gateway that made the session
  bool slices = true;                     // false: each gateway takes ports of all the client's range
  bool recovery = true;                   // false: clients are not asked, though they have their backups
  bool endpoint_independent_udp = true;
  engine::ExplicitFirst explicit_first = engine::ExplicitFirst::none;
  std::size_t gateway_deaths = 10;
  std::size_t daemon_restarts = 4;  // the kernel keeps the table
  std::size_t table_flushes = 1;    // of all gateways at once
  std::size_t reshuffles = 4;
  std::size_t moves = 20;  // clients that get another address; some other one gets theirs
  std::size_t holder_restarts = 0;
};

/// Clients have these indexes among the addresses; those who move get higher ones.
inline constexpr std::size_t kMostClients = 2046;

/// The options of a gateway.
engine::NodeOptions gateway_options(const Plan& plan, std::size_t gateway);
/// All addresses of which the outside side routes packets to the gateways.
std::vector<IpAddress> outside_addresses();

}  // namespace asrp::sim::act
