// SPDX-License-Identifier: GPL-2.0-or-later
// `backends`: every server of every pool, and what is known of it.
#include <cstdio>
#include <map>
#include <memory>

#include "asrpd-node/commands/commands.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::json_quoted;

constexpr std::size_t kServersAPiece = 256;

std::string_view word(engine::HolderSight sight) {
  switch (sight) {
    case engine::HolderSight::unknown:
      return "unknown";
    case engine::HolderSight::answers:
      return "answers";
    case engine::HolderSight::gone:
      return "gone";
  }
  return "";
}

std::string_view word(engine::ServerState state) {
  switch (state) {
    case engine::ServerState::usable:
      return "yes";
    case engine::ServerState::drained:
      return "drained";
    case engine::ServerState::down:
      return "down";
  }
  return "";
}

/// The one place where what is known of a server comes together.
std::string server_object(NodeAccess& node, const PoolConfig& pool, const engine::Backend& server,
                          const std::map<std::string, HealthBoard::Line>& health, const SessionCount* sessions) {
  const ServerWatch& watch = node.servers();
  std::string out =
      "{\"pool\":" + json_quoted(pool.name) + ",\"id\":" + json_quoted(server.id) +
      ",\"address\":" + json_quoted(server.address.to_string()) + ",\"weight\":" + std::to_string(server.weight) +
      ",\"state\":\"" + std::string(name_of(server.state)) + "\",\"holder\":\"" + std::string(name_of(server.holder)) +
      "\",\"holder_seen\":\"" + std::string(word(node.holder_sight(server.address.address))) + "\",\"new_sessions\":\"" +
      std::string(server.state == engine::BackendState::active ? word(watch.state(pool.name, server.id)) : "no") + "\"";
  if (const auto found = health.find(server.id); found != health.end()) {
    const double since = std::chrono::duration<double>(runtime::monotonic_now() - found->second.since).count();
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.1f", since);
    out += ",\"health\":\"" + std::string(policy::to_string(found->second.state)) + "\",\"health_since_s\":" + seconds +
           ",\"falls\":" + std::to_string(found->second.falls) + ",\"health_detail\":" + json_quoted(found->second.detail);
  }
  if (node.config().load.enabled) {
    const auto load = node.load_of(server.address.address);
    out += ",\"load\":" + (load ? std::to_string(*load) : "null");
  }
  if (sessions != nullptr) out += ",\"sessions\":" + std::to_string(sessions->at(pool.name, server.address));
  return out + "}";
}

/// A piece of a pool at a time. A reload in between ends it: what follows would not fit to what came before.
class Lines final : public runtime::LineSource {
 public:
  Lines(NodeAccess& node, std::string pool, std::optional<SessionCount> sessions)
      : node_(node), only_(std::move(pool)), sessions_(std::move(sessions)), revision_(node.revision()) {
    for (HealthBoard::Line& line : node.servers().health().lines()) health_[line.pool].emplace(line.id, line);
  }
  More append(std::string& out) override {
    if (node_.revision() != revision_) {
      cut_ = true;
      return More::no;
    }
    const std::vector<PoolConfig>& pools = node_.config().pools;
    for (std::size_t left = kServersAPiece; pool_ < pools.size(); ++pool_, server_ = 0) {
      const PoolConfig& pool = pools[pool_];
      if (!only_.empty() && pool.name != only_) continue;
      for (; server_ < pool.servers.size(); ++server_, ++count_) {
        if (left-- == 0) return More::yes;
        out += server_object(node_, pool, pool.servers[server_], health_[pool.name], sessions_ ? &*sessions_ : nullptr) + "\n";
      }
    }
    return More::no;
  }
  std::string end_members() override {
    if (cut_) return "\"error\":\"the configuration has changed meanwhile; ask again\"";
    return "\"servers\":" + std::to_string(count_);
  }

 private:
  NodeAccess& node_;
  std::string only_;
  std::optional<SessionCount> sessions_;
  std::uint64_t revision_;
  std::map<std::string, std::map<std::string, HealthBoard::Line>> health_;
  std::size_t pool_ = 0, server_ = 0, count_ = 0;
  bool cut_ = false;
};

}  // namespace

runtime::ControlCommand backends_command(NodeAccess& node) {
  return {"backends",
          {{"pool", runtime::ControlArgument::Kind::text}, {"sessions", runtime::ControlArgument::Kind::flag}},
          [&node](const runtime::ControlRequest& request, const runtime::ControlAnswer& answer) {
            const std::string pool = request.text("pool").value_or("");
            if (!pool.empty() && node.config().pool(pool) == nullptr)
              return answer.refuse("there is no pool \"" + pool + "\"", "\"kind\":\"argument\"");
            if (!request.flag("sessions")) return answer.stream("", std::make_unique<Lines>(node, pool, std::nullopt));
            // Each time the kernel's whole table: only for who asks for it.
            node.count_sessions([&node, pool, answer](const SessionCount& sessions) {
              answer.stream("", std::make_unique<Lines>(node, pool, sessions));
            });
          }};
}

}  // namespace asrp::node
