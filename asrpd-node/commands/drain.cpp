// SPDX-License-Identifier: GPL-2.0-or-later
// `drain`, `undrain`, `drains`: servers, or the whole node, taken out for new sessions.
#include <algorithm>

#include "asrpd-node/commands/commands.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;
using runtime::json_quoted;

constexpr std::uint64_t kLongestDeadline = 366u * 86400;  // seconds
const std::string kArgument = "\"kind\":\"argument\"";

std::int64_t now() { return static_cast<std::int64_t>(runtime::wall_clock_seconds()); }

std::string object_of(const Drains::Server& server) {
  return "{\"pool\":" + json_quoted(server.first) + ",\"server\":" + json_quoted(server.second) + "}";
}

std::string list_of(const std::vector<Drains::Server>& servers) {
  std::string out;
  for (const Drains::Server& server : servers) out += (out.empty() ? "" : ",") + object_of(server);
  return "[" + out + "]";
}

/// The servers that a request names; none, and refused, if it names none.
std::optional<std::vector<Drains::Server>> named(const NodeConfig& config, const ControlRequest& request,
                                                 const ControlAnswer& answer) {
  const auto id = request.text("server");
  const auto pool = request.text("pool");
  if (request.flag("node") == id.has_value()) {
    answer.refuse("give a server, or the whole node", kArgument);
    return std::nullopt;
  }
  if (!id) {
    if (!pool) return std::vector<Drains::Server>();
    answer.refuse("a pool goes with a server", kArgument);
    return std::nullopt;
  }
  auto servers = servers_named(config, *id, pool);
  if (!servers.empty()) return servers;
  answer.refuse(pool ? "pool " + *pool + " has no server " + *id : "no pool has a server " + *id, kArgument);
  return std::nullopt;
}

/// Pools whose new sessions would find no server.
std::string emptied_pools(const NodeConfig& config, const Drains& drains) {
  std::string out;
  for (const PoolConfig& pool : config.pools) {
    const auto takes = [&](const engine::Backend& server) {
      return server.state == engine::BackendState::active && server.weight > 0;
    };
    const auto is_drained = [&](const engine::Backend& server) { return drains.servers.count({pool.name, server.id}) != 0; };
    const bool any_drained =
        std::any_of(pool.servers.begin(), pool.servers.end(), [&](const auto& s) { return takes(s) && is_drained(s); });
    const bool any_left =
        std::any_of(pool.servers.begin(), pool.servers.end(), [&](const auto& s) { return takes(s) && !is_drained(s); });
    if (any_drained && !any_left) out += (out.empty() ? "" : ",") + json_quoted(pool.name);
  }
  return "[" + out + "]";
}

void change(NodeAccess& node, Drains next, const ControlAnswer& answer, const std::string& members, const std::string& what) {
  const std::string emptied = emptied_pools(node.config(), next);
  if (const auto done = node.change_drains(std::move(next)); !done) return answer.refuse(done.error().to_string());
  runtime::log_info("drain", what);
  answer.give(members + ",\"pools_without_server\":" + emptied);
}

std::string text_of(const std::vector<Drains::Server>& servers) {
  std::string out;
  for (const auto& [pool, id] : servers) out += (out.empty() ? "server " : ", server ") + id + " of pool " + pool;
  return out.empty() ? "the node" : out;
}

void drain(NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  const auto servers = named(node.config(), request, answer);
  if (!servers) return;
  Drain drain{now(), std::nullopt};
  if (const auto seconds = request.number("deadline")) {
    if (*seconds == 0 || *seconds > kLongestDeadline)
      return answer.refuse("a deadline is 1 to " + std::to_string(kLongestDeadline) + " seconds away", kArgument);
    drain.deadline = drain.since + static_cast<std::int64_t>(*seconds);
  }
  Drains next = node.servers().drains();
  const auto begin = [&drain](const Drain* before) {  // a second drain changes the deadline, not the beginning
    return before == nullptr ? drain : Drain{before->since, drain.deadline};
  };
  if (servers->empty()) next.node = begin(next.node ? &*next.node : nullptr);
  for (const Drains::Server& server : *servers) {
    const auto before = next.servers.find(server);
    next.servers[server] = begin(before == next.servers.end() ? nullptr : &before->second);
  }
  change(node, std::move(next), answer, servers->empty() ? "\"node\":true" : "\"drained\":" + list_of(*servers),
         text_of(*servers) + (servers->empty() ? " asks for no more flows" : " gets no new sessions"));
}

void undrain(NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  const auto servers = named(node.config(), request, answer);
  if (!servers) return;
  Drains next = node.servers().drains();
  std::vector<Drains::Server> ended;
  for (const Drains::Server& server : *servers)
    if (next.servers.erase(server) != 0) ended.push_back(server);
  if (servers->empty() ? !next.node.has_value() : ended.empty())
    return answer.refuse(text_of(*servers) + " is not drained", "\"kind\":\"state\"");
  if (servers->empty()) next.node.reset();
  change(node, std::move(next), answer, servers->empty() ? "\"node\":false" : "\"undrained\":" + list_of(ended),
         text_of(servers->empty() ? *servers : ended) + " is no longer drained");
}

std::string state_of(const Drain& drain, std::uint64_t sessions) {
  std::string out = "\"since\":" + std::to_string(drain.since) + ",\"for_s\":" + std::to_string(now() - drain.since);
  if (drain.deadline)
    out += ",\"deadline\":" + std::to_string(*drain.deadline) + ",\"left_s\":" + std::to_string(*drain.deadline - now()) +
           ",\"overdue\":" + (*drain.deadline <= now() ? "true" : "false");
  return out + ",\"sessions\":" + std::to_string(sessions);
}

/// What is drained, and how many sessions this node's table still has there.
std::string drains_members(const NodeConfig& config, const Drains& drains, const SessionCount& sessions) {
  std::string servers;
  for (const PoolConfig& pool : config.pools)
    for (const engine::Backend& server : pool.servers) {
      const auto found = drains.servers.find({pool.name, server.id});
      if (found == drains.servers.end()) continue;
      servers += (servers.empty() ? "" : ",") + std::string("{\"pool\":") + json_quoted(pool.name) +
                 ",\"server\":" + json_quoted(server.id) + ",\"address\":" + json_quoted(server.address.to_string()) + "," +
                 state_of(found->second, sessions.at(pool.name, server.address)) + "}";
    }
  const std::string whole = drains.node ? "{" + state_of(*drains.node, sessions.all()) + "}" : "null";
  return "\"node\":" + whole + ",\"servers\":[" + servers + "]";
}

}  // namespace

runtime::ControlCommand drain_command(NodeAccess& node) {
  return {"drain",
          {{"server"}, {"pool"}, {"node", ControlArgument::Kind::flag}, {"deadline", ControlArgument::Kind::number}},
          [&node](const ControlRequest& request, const ControlAnswer& answer) { drain(node, request, answer); }};
}

runtime::ControlCommand undrain_command(NodeAccess& node) {
  return {"undrain",
          {{"server"}, {"pool"}, {"node", ControlArgument::Kind::flag}},
          [&node](const ControlRequest& request, const ControlAnswer& answer) { undrain(node, request, answer); }};
}

runtime::ControlCommand drains_command(NodeAccess& node) {
  return {"drains", {}, [&node](const ControlRequest&, const ControlAnswer& answer) {
            node.count_sessions([&node, answer](const SessionCount& sessions) {
              answer.give(drains_members(node.config(), node.servers().drains(), sessions));
            });
          }};
}

}  // namespace asrp::node
