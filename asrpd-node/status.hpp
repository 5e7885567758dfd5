// SPDX-License-Identifier: GPL-2.0-or-later
// What the node's control socket answers.
#pragma once

#include <string>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/server_watch.hpp"
#include "runtime/control_socket.hpp"

namespace asrp::node {

/// 16 hexadecimal digits over services, server ids, weights, epochs, placement key and algorithm version: nodes of a cluster
/// that show different ones place sessions differently (decision 28).
std::string placement_digest(const engine::NodeOptions& options);
/// The same over the cookie keys, whichever of them signs.
std::string cookie_keys_digest(const engine::NodeOptions& options);

std::vector<runtime::CounterLine> counter_lines(const engine::NodeEngine& engine, const NodeDriver::Edges& edges,
                                                const NodeDriver::Statistics& driver);
/// Members of the answer to `status` that only a node has.
std::string status_members(const engine::NodeOptions& options, const engine::NodeEngine::Gauges& gauges,
                           const io::Conntrack::Fill& fill, const ServerWatch::Gauges& servers);

}  // namespace asrp::node
