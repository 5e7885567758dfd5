// SPDX-License-Identifier: GPL-2.0-or-later
// What the node's control socket answers.
#pragma once

#include <string>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/server_watch.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/line_thread.hpp"
#include "runtime/metrics_page.hpp"

namespace asrp::node {

/// 16 hexadecimal digits over services, server ids, weights, epochs, placement key and algorithm version: nodes of a cluster
/// that show different ones place sessions differently (decision 28).
std::string placement_digest(const engine::NodeOptions& options);
/// The same over the cookie keys, whichever of them signs.
std::string cookie_keys_digest(const engine::NodeOptions& options);
/// The same over one epoch: its servers' ids, weights and priorities, and the key.
std::string epoch_digest(const policy::Epoch& epoch);

/// What there is to tell of load reports.
struct LoadStatus {
  std::string keys_digest;  // empty: none are taken
  std::size_t unknown = 0;  // servers without a report that still counts
};

std::vector<runtime::CounterLine> counter_lines(const engine::NodeEngine& engine, const NodeDriver::Edges& edges,
                                                const NodeDriver::Statistics& driver);
/// Members of the answer to `status` that only a node has.
std::string status_members(const engine::NodeOptions& options, const engine::NodeEngine::Gauges& gauges,
                           const io::Conntrack::Fill& fill, const ServerWatch::Gauges& servers, const LoadStatus& load);

/// Of the whole node, behind those of its workers.
void append_health_counters(std::vector<runtime::CounterLine>& lines, std::uint64_t checks, std::uint64_t failed);

/// What one worker has to tell; those of all are added.
struct Measured {
  std::vector<runtime::CounterLine> counters;
  engine::NodeEngine::Gauges gauges{};
  engine::NodeEngine::Durations recoveries;
  engine::SlowPathHistogram slow_path;
  Measured& operator+=(const Measured& other);
};
Measured measured(const engine::NodeEngine& engine, const NodeDriver::Edges& edges, const NodeDriver::Statistics& driver);

/// Both digests above, kept between changes of the configuration: a large pool takes a while.
struct Digests {
  std::string placement, cookie_keys;
};
void add_metrics(runtime::MetricsPage& page, const Measured& measured, const engine::NodeOptions& options,
                 const Digests& digests, const io::Conntrack::Fill& fill, const ServerWatch::Gauges& servers,
                 const LoadStatus& load);

/// Lines of a dry run: pools that begin an epoch with `next`, and what that moves.
void put_pool_moves(const NodeConfig& now, const NodeConfig& next, runtime::LineSink& sink);

}  // namespace asrp::node
