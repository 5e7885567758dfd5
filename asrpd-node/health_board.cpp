// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/health_board.hpp"

namespace asrp::node {

HealthBoard::HealthBoard(Probers probers, RandomSource& random, Clock clock, Changed changed, Ended ended)
    : probers_(probers), random_(random), clock_(std::move(clock)), changed_(std::move(changed)), ended_(std::move(ended)) {}

HealthBoard::~HealthBoard() = default;

io::Prober& HealthBoard::prober(HealthCheck check) const {
  switch (check) {
    case HealthCheck::tcp:
      return probers_.tcp;
    case HealthCheck::http:
      return probers_.http;
    case HealthCheck::command:
      return probers_.command;
    case HealthCheck::asrp:
      break;
  }
  return probers_.asrp;
}

HealthBoard::Line HealthBoard::line(const Entry& entry) {
  return {entry.key.first,      entry.key.second,     entry.how.check, entry.health.state(),
          entry.health.since(), entry.health.falls(), entry.detail};
}

void HealthBoard::queue(Entry& entry) { due_.emplace(entry.health.due(), entry.key); }
void HealthBoard::unqueue(Entry& entry) { due_.erase({entry.health.due(), entry.key}); }

void HealthBoard::configure(const std::vector<PoolConfig>& pools) {
  ++round_;
  for (const PoolConfig& pool : pools) {
    if (!pool.health) continue;
    for (const engine::Backend& server : pool.servers)
      if (server.state != engine::BackendState::disabled) add_or_keep(pool, server);
  }
  for (auto next = entries_.begin(); next != entries_.end();) {
    Entry& entry = next->second;
    if (entry.round == round_) {
      ++next;
      continue;
    }
    forget(entry);
    next = entries_.erase(next);
  }
}

void HealthBoard::add_or_keep(const PoolConfig& pool, const engine::Backend& server) {
  const Key key{pool.name, server.id};
  auto found = entries_.find(key);
  if (found != entries_.end() && found->second.server != server.address) {  // another server by an old name
    forget(found->second);
    entries_.erase(found);
    found = entries_.end();
  }
  if (found == entries_.end()) {
    policy::ServerHealth health(pool.health->rule, clock_(), random_.u64());
    found = entries_.emplace(key, Entry{key, server.address, *pool.health, health, nullptr, {}, 0}).first;
    queue(found->second);
    by_host_.emplace(server.address.address, key);
  }
  Entry& entry = found->second;
  entry.round = round_;
  if (entry.how == *pool.health) return;
  end_look(entry);  // it would answer the old question
  unqueue(entry);
  entry.how = *pool.health;
  entry.health.set_options(entry.how.rule);
  entry.health.on_hint(clock_());
  queue(entry);
}

/// Before it is erased.
void HealthBoard::forget(Entry& entry) {
  end_look(entry);
  unqueue(entry);
  by_host_.erase({entry.server.address, entry.key});
}

void HealthBoard::end_look(Entry& entry) {
  if (!entry.probe) return;
  entry.probe.reset();
  --under_way_;
}

void HealthBoard::on_time() {
  const TimePoint now = clock_();
  while (under_way_ < kMostLooks && !due_.empty() && due_.begin()->first <= now) begin_look(entries_.at(due_.begin()->second));
}

std::optional<TimePoint> HealthBoard::next_due() const {
  if (due_.empty() || under_way_ >= kMostLooks) return std::nullopt;
  return due_.begin()->first;
}

void HealthBoard::begin_look(Entry& entry) {
  unqueue(entry);
  ++under_way_;
  ++looks_;
  Endpoint at = entry.server;
  if (entry.how.port != 0) at.port = entry.how.port;
  entry.probe = prober(entry.how.check)
                    .begin(entry.how.question, {entry.key.first, entry.key.second, at},
                           [this, &entry](const io::ProbeResult& result) { on_result(entry, result); });
}

void HealthBoard::on_result(Entry& entry, const io::ProbeResult& result) {
  entry.probe.reset();
  --under_way_;
  if (!result.good) ++failed_looks_;
  entry.detail = result.detail;
  const policy::HealthState before = entry.health.state();
  entry.health.on_result(clock_(), result.good, random_.u64());
  queue(entry);
  if (entry.health.state() != before) changed_(line(entry));
  on_time();
  ended_();
}

void HealthBoard::on_hint(const IpAddress& host) {
  for (auto next = by_host_.lower_bound({host, {}}); next != by_host_.end() && next->first == host; ++next) {
    Entry& entry = entries_.at(next->second);
    if (entry.probe) continue;
    unqueue(entry);
    entry.health.on_hint(clock_());
    queue(entry);
  }
}

bool HealthBoard::usable(const std::string& pool, const std::string& id) const {
  const auto found = entries_.find(Key{pool, id});
  return found == entries_.end() || found->second.health.usable();
}

std::vector<HealthBoard::Line> HealthBoard::lines() const {
  std::vector<Line> out;
  for (const auto& [key, entry] : entries_) out.push_back(line(entry));
  return out;
}

}  // namespace asrp::node
