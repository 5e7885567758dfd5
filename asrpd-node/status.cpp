// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/status.hpp"

#include <algorithm>
#include <cstdio>

#include "asrp/policy/placement.hpp"
#include "asrpd-node/config_diff.hpp"
#include "asrpd-node/nat_status.hpp"
#include "frame/packet_edges.hpp"
#include "runtime/digest.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::CounterLine;
using runtime::Digest;

void add_epoch(Digest& digest, policy::Epoch epoch) {
  sort_members(epoch);
  digest.add(to_hex(epoch.key));
  digest.add(std::to_string(epoch.members.size()));
  for (const policy::EpochMember& member : epoch.members) {
    digest.add(member.id);
    digest.add(std::to_string(member.weight));
    if (member.priority != 0) digest.add("priority " + std::to_string(member.priority));
  }
}

}  // namespace

std::string epoch_digest(const policy::Epoch& epoch) {
  Digest digest;
  digest.add(std::to_string(policy::kPlacementVersion));
  add_epoch(digest, epoch);
  return digest.text();
}

std::string placement_digest(const engine::NodeOptions& options) {
  Digest digest;
  digest.add(std::to_string(policy::kPlacementVersion));
  std::vector<const engine::Service*> services;
  for (const engine::Service& service : options.services) services.push_back(&service);
  std::sort(services.begin(), services.end(),
            [](const engine::Service* a, const engine::Service* b) { return a->name < b->name; });
  for (const engine::Service* s : services) {
    digest.add(s->name + " " + to_string(s->protocol) + " " + s->address.to_string() + " " + std::to_string(s->ranks));
    digest.add(s->forward == engine::ForwardMode::nat ? "nat" : "full-nat");
    for (const IpAddress& address : s->full_nat.addresses) digest.add(address.to_string());
    digest.add(std::to_string(s->full_nat.first_port) + "-" + std::to_string(s->full_nat.last_port));
    policy::Epoch current{{}, options.placement_key};
    for (const engine::Backend& server : s->backends)
      if (server.state == engine::BackendState::active)
        current.members.push_back(epoch_member(s->policy, server.id, server.weight, server.priority));
    policy::Epoch coming = current;  // whom a node that ranks them already may have given a session
    for (const engine::Backend& server : s->backends)
      if (server.state == engine::BackendState::joining)
        coming.members.push_back(epoch_member(s->policy, server.id, server.weight, server.priority));
    if (coming.members.size() != current.members.size()) add_epoch(digest, std::move(coming));
    add_epoch(digest, std::move(current));
    for (const policy::Epoch& past : s->past_epochs) add_epoch(digest, past);
  }
  add_to_placement(digest, options);
  return digest.text();
}

std::string cookie_keys_digest(const engine::NodeOptions& options) {
  std::vector<std::string> keys = {to_hex(options.cookie_keys.sign)};
  for (const HashKey& key : options.cookie_keys.accept) keys.push_back(to_hex(key));
  std::sort(keys.begin(), keys.end());
  Digest digest;
  for (const std::string& key : keys) digest.add(key);
  return digest.text();
}

std::vector<CounterLine> counter_lines(const engine::NodeEngine& engine, const NodeDriver::Edges& edges,
                                       const NodeDriver::Statistics& driver) {
  std::vector<CounterLine> lines;
  runtime::append_counters<engine::NodeCounter>(lines, engine.counters(),
                                                [](engine::NodeCounter counter) { return engine::info(counter); });
  frame::append_packet_counters(lines, edges.queue, edges.messages, edges.sender, {driver.bursts, driver.cut_packets, false});
  const auto table = edges.conntrack.statistics();
  lines.push_back({"conntrack.installed", table.installed, "entries made"});
  lines.push_back({"conntrack.exists", table.exists, "entries that were there, or whose port was taken"});
  lines.push_back({"conntrack.full", table.full, "entries refused: the table is full (ENOMEM)"});
  lines.push_back({"conntrack.failed", table.failed, "entries refused for another reason"});
  lines.push_back({"conntrack.removed", table.removed, "entries removed"});
  lines.push_back(
      {"conntrack.untranslated", driver.untranslated, "entries removed that a service had got without a translation"});
  lines.push_back({"conntrack.orphaned", driver.orphaned,
                   "UDP entries removed because their server left the pool, or their client the networks"});
  return lines;
}

void append_health_counters(std::vector<CounterLine>& lines, std::uint64_t checks, std::uint64_t failed) {
  lines.push_back({"health.checks", checks, "checks of servers begun"});
  lines.push_back({"health.failed", failed, "checks of servers that have failed"});
}

Measured& Measured::operator+=(const Measured& other) {
  // The same names in the same order.
  for (std::size_t i = 0; i < counters.size(); ++i) counters[i].value += other.counters[i].value;
  gauges += other.gauges;
  recoveries += other.recoveries;
  slow_path += other.slow_path;
  return *this;
}

Measured measured(const engine::NodeEngine& engine, const NodeDriver::Edges& edges, const NodeDriver::Statistics& driver) {
  return {counter_lines(engine, edges, driver), engine.gauges(), engine.durations(), driver.slow_path};
}

void add_metrics(runtime::MetricsPage& page, const Measured& m, const engine::NodeOptions& options, const Digests& digests,
                 const io::Conntrack::Fill& fill, const ServerWatch::Gauges& servers, const LoadStatus& load) {
  const auto gauge = [&page](const char* name, const char* help, std::uint64_t value) {
    page.gauge(name, help, static_cast<double>(value));
  };
  page.info("placement_info", "digest of what places sessions: nodes that show different ones place them differently",
            {{"digest", digests.placement}});
  page.info("cookie_keys_info", "digest of the cookie keys: the same on all nodes except during a rotation",
            {{"digest", digests.cookie_keys}});
  page.info("load_keys_info", "digest of the keys of load reports; empty where none are taken", {{"digest", load.keys_digest}});
  add_mode_metrics(page, options);
  for (const engine::Service& s : options.services)
    page.gauge("service_servers", "servers of a service, in whatever state", static_cast<double>(s.backends.size()),
               {{"service", s.name}});
  for (const engine::Service& s : options.services)
    page.gauge("service_past_epochs", "former pools of a service that are still asked",
               static_cast<double>(s.past_epochs.size()), {{"service", s.name}});
  gauge("recoveries_in_flight", "recoveries that wait for an answer", m.gauges.recoveries);
  gauge("held_packets", "packets held for recoveries", m.gauges.held_packets);
  gauge("held_bytes", "octets of the packets held", m.gauges.held_octets);
  gauge("sessions_waiting", "sessions whose backup is not confirmed yet", m.gauges.waiting);
  gauge("sessions_without_backup", "sessions without a backup, as the last look through the table found them",
        m.gauges.unprotected);
  gauge("attempts", "full-NAT first packets kept for the case of a conflict", m.gauges.attempts);
  gauge("holders_silent", "servers whose holder does not answer", m.gauges.holders_gone);
  gauge("servers_down", "servers whose checks say that they are down", servers.down);
  gauge("servers_drained", "servers that get no new sessions because somebody said so", servers.drained);
  gauge("servers_load_unknown", "servers without a load report that still counts; 0 where none are taken", load.unknown);
  gauge("table_entries", "entries of the kernel's connection tracking table", fill.count);
  gauge("table_maximum_entries", "entries that the table may have", fill.maximum);
  constexpr const char* kRecovery = "time from a recovery's first packet to its outcome";
  page.histogram("recovery_duration_seconds", kRecovery, m.recoveries.restored, {{"outcome", "restored"}});
  page.histogram("recovery_duration_seconds", kRecovery, m.recoveries.no_session, {{"outcome", "no_session"}});
  page.histogram("recovery_duration_seconds", kRecovery, m.recoveries.silence, {{"outcome", "silence"}});
  page.histogram("slow_path_duration_seconds",
                 "for each packet that the daemon got, the time from the burst's receipt to its verdicts", m.slow_path);
  page.counters(m.counters);
}

std::string status_members(const engine::NodeOptions& options, const engine::NodeEngine::Gauges& g,
                           const io::Conntrack::Fill& fill, const ServerWatch::Gauges& servers, const LoadStatus& load) {
  std::string services;
  for (const engine::Service& s : options.services) {
    if (!services.empty()) services += ',';
    services += "{\"name\":" + runtime::json_quoted(s.name) + ",\"address\":" + runtime::json_quoted(s.address.to_string()) +
                ",\"protocol\":\"" + to_string(s.protocol) + "\",\"servers\":" + std::to_string(s.backends.size()) +
                ",\"past_epochs\":" + std::to_string(s.past_epochs.size()) + "}";
  }
  const std::string load_digest = load.keys_digest.empty() ? "" : "\"load_keys_digest\":\"" + load.keys_digest + "\",";
  return load_digest + "\"placement_digest\":\"" + placement_digest(options) + "\",\"cookie_keys_digest\":\"" +
         cookie_keys_digest(options) + "\",\"services\":[" + services + "],\"gauges\":" +
         frame::gauges_object({{"recoveries", g.recoveries},
                               {"held_packets", g.held_packets},
                               {"held_octets", g.held_octets},
                               {"waiting", g.waiting},
                               {"attempts", g.attempts},
                               {"holders_gone", g.holders_gone},
                               {"servers_down", servers.down},
                               {"servers_drained", servers.drained},
                               {"unprotected", g.unprotected},
                               {"load_unknown", load.unknown},
                               {"table_entries", fill.count},
                               {"table_maximum", fill.maximum}});
}

void put_pool_moves(const NodeConfig& now, const NodeConfig& next, runtime::LineSink& sink) {
  for (const PoolMove& move : pool_moves(now, next, [&sink] { return !sink.is_wanted(); })) {
    char shares[96];
    std::snprintf(shares, sizeof shares, "\"moved\":%.6f,\"minimum\":%.6f", move.moved, move.minimum);
    sink.put("{\"pool\":" + runtime::json_quoted(move.pool) + ",\"begins_epoch\":true," + shares +
             ",\"counted\":" + (move.counted ? "true" : "false") + "}");
  }
}

}  // namespace asrp::node
