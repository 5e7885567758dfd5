// SPDX-License-Identifier: GPL-2.0-or-later
// `services`: what the node serves, and with which pool.
#include "asrpd-node/commands/commands.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::json_quoted;

std::string_view name_of(engine::ForwardMode mode) { return mode == engine::ForwardMode::nat ? "nat" : "full-nat"; }
std::string_view name_of(engine::Routing routing) { return routing == engine::Routing::symmetric ? "symmetric" : "asymmetric"; }

std::string service_object(const ServiceConfig& service, const NodeConfig& config) {
  const engine::Service& s = service.settings;
  const PoolConfig* const pool = config.pool(service.pool);
  std::size_t active = 0;
  if (pool != nullptr)
    for (const engine::Backend& server : pool->servers) active += server.state == engine::BackendState::active ? 1 : 0;
  return "{\"name\":" + json_quoted(s.name) + ",\"protocol\":\"" + to_string(s.protocol) +
         "\",\"address\":" + json_quoted(s.address.to_string()) + ",\"forward\":\"" + std::string(name_of(s.forward)) +
         "\",\"routing\":\"" + std::string(name_of(s.routing)) + "\",\"pool\":" + json_quoted(service.pool) +
         ",\"servers\":" + std::to_string(pool != nullptr ? pool->servers.size() : 0) +
         ",\"active\":" + std::to_string(active) + "}";
}

}  // namespace

runtime::ControlCommand services_command(NodeAccess& node) {
  return {"services", {}, [&node](const runtime::ControlRequest&, const runtime::ControlAnswer& answer) {
            std::string list;
            for (const ServiceConfig& service : node.config().services)
              list += (list.empty() ? "" : ",") + service_object(service, node.config());
            answer.give("\"services\":[" + list + "]");
          }};
}

}  // namespace asrp::node
