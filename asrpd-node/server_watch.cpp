// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/server_watch.hpp"

#include <algorithm>
#include <utility>

#include "asrpd-node/holder_probe.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::node {

using engine::ServerState;
using policy::HealthState;

ServerWatch::ServerWatch(runtime::EventLoop& loop, RandomSource& random, Sight sight, Tell tell, Overdue overdue)
    : loop_(loop),
      tell_(std::move(tell)),
      overdue_(std::move(overdue)),
      tcp_(io::make_tcp_prober(loop)),
      http_(io::make_http_prober(loop)),
      command_(io::make_command_prober(loop)),
      asrp_(make_holder_prober(loop, std::move(sight))),
      board_(
          {*tcp_, *http_, *command_, *asrp_}, random, runtime::monotonic_now,
          [this](const HealthBoard::Line& line) { on_health(line); }, [this] { arm(); }) {}

ServerWatch::~ServerWatch() {
  loop_.cancel(timer_);
  loop_.cancel(deadline_timer_);
}

void ServerWatch::configure(const NodeConfig& config) {
  board_.configure(config.pools);
  drains_ = next_drains(drains_, config);
  const std::map<Drains::Server, ServerState> before = std::exchange(told_, {});
  for (const PoolConfig& pool : config.pools)
    for (const engine::Backend& server : pool.servers) {
      // What isn't usable is told again: an engine forgets the servers of a pool while no service uses it.
      const ServerState now = state(pool.name, server.id);
      if (now != ServerState::usable) {
        told_[{pool.name, server.id}] = now;
      } else if (before.count({pool.name, server.id}) == 0) {
        continue;
      }
      tell_(pool.name, server.id, now);
    }
  arm();
  arm_deadline();
}

void ServerWatch::set_drains(Drains drains) {
  const Drains before = std::exchange(drains_, std::move(drains));
  for (const auto& [server, drain] : before.servers) update(server.first, server.second);
  for (const auto& [server, drain] : drains_.servers) update(server.first, server.second);
  arm_deadline();
}

namespace {

/// The clock may be set while a timer waits.
constexpr double kLongestWait = 60;  // seconds

/// Calls `each` with every drain that has a deadline, and its server; nullptr is the node.
template <typename Each>
void for_each_deadline(const Drains& drains, Each each) {
  if (drains.node && drains.node->deadline) each(nullptr, *drains.node);
  for (const auto& [server, drain] : drains.servers)
    if (drain.deadline) each(&server, drain);
}

void add(Drains& drains, const Drains::Server* server, const Drain& drain) {
  if (server == nullptr) {
    drains.node = drain;
  } else {
    drains.servers.emplace(*server, drain);
  }
}

}  // namespace

bool ServerWatch::is_told_overdue(const Drains::Server* server, const Drain& drain) const {
  if (server == nullptr) return told_overdue_.node == drain;
  const auto found = told_overdue_.servers.find(*server);
  return found != told_overdue_.servers.end() && found->second == drain;
}

void ServerWatch::arm_deadline() {
  loop_.cancel(deadline_timer_);
  deadline_timer_ = 0;
  std::optional<std::int64_t> next;
  for_each_deadline(drains_, [&](const Drains::Server* server, const Drain& drain) {
    if (!is_told_overdue(server, drain)) next = next ? std::min(*next, *drain.deadline) : *drain.deadline;
  });
  if (!next) return;
  const std::chrono::duration<double> wait(
      std::clamp(static_cast<double>(*next) - runtime::wall_clock_seconds(), 0.0, kLongestWait));
  deadline_timer_ =
      loop_.call_at(runtime::monotonic_now() + std::chrono::duration_cast<Duration>(wait), [this] { on_deadline(); });
}

void ServerWatch::on_deadline() {
  const double now = runtime::wall_clock_seconds();
  Drains over;
  Drains told;  // of those that are still in force
  for_each_deadline(drains_, [&](const Drains::Server* server, const Drain& drain) {
    const bool known = is_told_overdue(server, drain);
    if (!known && static_cast<double>(*drain.deadline) > now) return;
    add(told, server, drain);
    if (!known) add(over, server, drain);
  });
  told_overdue_ = std::move(told);
  if (over != Drains{}) overdue_(over);
  arm_deadline();
}

ServerState ServerWatch::state(const std::string& pool, const std::string& server) const {
  if (drains_.servers.count({pool, server}) != 0) return ServerState::drained;  // also where it is down
  return board_.usable(pool, server) ? ServerState::usable : ServerState::down;
}

void ServerWatch::update(const std::string& pool, const std::string& server) {
  const ServerState now = state(pool, server);
  const auto found = told_.find({pool, server});
  if (now == (found == told_.end() ? ServerState::usable : found->second)) return;
  if (now == ServerState::usable) {
    told_.erase(found);
  } else {
    told_[{pool, server}] = now;
  }
  tell_(pool, server, now);
}

void ServerWatch::on_health(const HealthBoard::Line& line) {
  const std::string what =
      "server " + line.id + " of pool " + line.pool + " is " + std::string(policy::to_string(line.state)) + ": " + line.detail;
  if (line.state == HealthState::up) {
    runtime::log_info("health", what);
  } else {
    runtime::log_warning("health", what);
  }
  update(line.pool, line.id);
}

void ServerWatch::on_hint(const IpAddress& host) {
  board_.on_hint(host);
  arm();
}

ServerWatch::Gauges ServerWatch::gauges() const {
  Gauges out;
  for (const auto& [server, state] : told_) ++(state == ServerState::drained ? out.drained : out.down);
  return out;
}

void ServerWatch::arm() {
  loop_.cancel(timer_);
  timer_ = 0;
  if (const auto at = board_.next_due())
    timer_ = loop_.call_at(*at, [this] {
      board_.on_time();
      arm();
    });
}

}  // namespace asrp::node
