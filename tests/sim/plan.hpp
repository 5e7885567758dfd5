// SPDX-License-Identifier: BSD-3-Clause
// What a run in PSV mode is made of: services, servers, sessions, faults. Everything follows from the plan and its seed.
#pragma once

#include <string>
#include <vector>

#include "asrp/engine/node_options.hpp"
#include "sim/addresses.hpp"
#include "sim/network.hpp"

namespace asrp::sim {

struct Plan {
  std::uint64_t seed = 1;
  std::size_t nodes = 4;
  std::size_t servers = 6;
  std::size_t joining_servers = 1;  // come into the pool during the run
  std::size_t sessions = 1000;
  Duration arrivals = std::chrono::seconds(10);  // sessions begin evenly over this time
  Duration faults = std::chrono::seconds(20);    // faults end after this time
  Impairment impairment{.lost_per_mille = 20, .doubled_per_mille = 20, .late_per_mille = 20, .error_per_mille = 5};
  engine::ForwardMode forward = engine::ForwardMode::nat;
  engine::Routing routing = engine::Routing::asymmetric;
  bool symmetric_paths = false;
  std::size_t udp_percent = 30;
  engine::ExplicitFirst explicit_first = engine::ExplicitFirst::none;  // any: UDP sessions have one request
  std::size_t reuse_percent = 10;                                      // sessions that use the port of one that has ended
  std::size_t v6_percent = 50;
  std::uint16_t full_nat_ports = 2000;  // few, so that mappings meet
  std::size_t node_deaths = 4;
  std::size_t node_restarts = 2;  // the daemon only: the kernel keeps the table
  std::size_t table_flushes = 1;  // of all nodes at once
  std::size_t reshuffles = 2;
  std::size_t pool_changes = 2;
  std::size_t holder_restarts = 4;
  policy::SelectionPolicy policy = policy::SelectionPolicy::hash;
  std::size_t state_changes = 0;  // some node begins or ceases to hold some server for down or drained
  std::size_t load_reports = 0;   // each to one node

  /// Both copies of a SYN may pass, at two nodes; those that choose on their own, or hold others for down, take two servers
  /// then.
  [[nodiscard]] bool decides_alike() const { return policy == policy::SelectionPolicy::hash && state_changes == 0; }
};

inline constexpr const char* kPoolName = "farm";
inline std::string server_id(std::size_t server) { return "s" + std::to_string(server); }

inline std::uint16_t service_port(Protocol protocol) { return protocol == Protocol::tcp ? kTcpPort : kUdpPort; }

/// The pool at some time: `active` servers take part, the next `joining` ones are known.
struct Pool {
  std::size_t active = 0;
  std::size_t joining = 0;
  std::vector<std::uint32_t> weights;  // of all servers
};

/// Options of a node: the same on all nodes, but for their addresses. `past`: newest first.
engine::NodeOptions node_options(const Plan& plan, std::size_t node, const Pool& pool, const std::vector<Pool>& past);

}  // namespace asrp::sim
