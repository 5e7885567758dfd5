// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/status.hpp"

#include <algorithm>
#include <cstdio>

#include "asrp/policy/placement.hpp"
#include "runtime/digest.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::CounterLine;
using runtime::Digest;

void add_epoch(Digest& digest, policy::Epoch epoch) {
  std::sort(epoch.members.begin(), epoch.members.end(),
            [](const policy::EpochMember& a, const policy::EpochMember& b) { return a.id < b.id; });
  digest.add(to_hex(epoch.key));
  digest.add(std::to_string(epoch.members.size()));
  for (const policy::EpochMember& member : epoch.members) {
    digest.add(member.id);
    digest.add(std::to_string(member.weight));
  }
}

}  // namespace

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
      if (server.state == engine::BackendState::active) current.members.push_back({server.id, server.weight});
    add_epoch(digest, std::move(current));
    for (const policy::Epoch& past : s->past_epochs) add_epoch(digest, past);
  }
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
  const auto queue = edges.queue.statistics();
  lines.push_back({"queue.received", queue.received, "packets that the kernel handed over"});
  lines.push_back({"queue.bursts", driver.bursts, "bursts in which packets and messages were taken"});
  lines.push_back({"queue.overruns", queue.overruns, "times that the kernel could not hand over: the socket was full"});
  lines.push_back({"queue.dropped", queue.dropped, "packets that the kernel dropped: the queue was full"});
  lines.push_back({"queue.lost", queue.lost, "packets that the kernel dropped: the socket was full"});
  lines.push_back({"queue.verdict_errors", queue.verdict_errors, "verdicts that the kernel refused"});
  lines.push_back({"queue.cut", driver.cut_packets, "packets of which the kernel gave a part only; dropped"});
  lines.push_back(
      {"messages.lost", edges.messages.lost(), "datagrams to ASRP-PORT that the kernel dropped: the socket was full"});
  const auto sender = edges.sender.statistics();
  lines.push_back({"sender.sent", sender.sent, "packets sent through raw sockets"});
  lines.push_back(
      {"sender.too_big", sender.too_big, "packets larger than the MTU of their route that must not be cut; dropped"});
  lines.push_back({"sender.failed", sender.failed, "packets that could not be sent"});
  const auto table = edges.conntrack.statistics();
  lines.push_back({"conntrack.installed", table.installed, "entries made"});
  lines.push_back({"conntrack.exists", table.exists, "entries that were there, or whose port was taken"});
  lines.push_back({"conntrack.full", table.full, "entries refused: the table is full (ENOMEM)"});
  lines.push_back({"conntrack.failed", table.failed, "entries refused for another reason"});
  lines.push_back({"conntrack.removed", table.removed, "entries removed"});
  lines.push_back(
      {"conntrack.untranslated", driver.untranslated, "entries removed that a service had got without a translation"});
  lines.push_back({"conntrack.orphaned", driver.orphaned, "UDP entries removed because their server left the pool"});
  return lines;
}

std::string status_members(const engine::NodeEngine& engine, const NodeDriver::Edges& edges, double uptime_seconds) {
  const engine::NodeEngine::Gauges g = engine.gauges();
  const io::Conntrack::Fill fill = edges.conntrack.fill();
  char uptime[32];
  std::snprintf(uptime, sizeof uptime, "%.1f", uptime_seconds);
  std::string out =
      "\"program\":\"asrpd-node\",\"version\":\"" ASRP_VERSION "\",\"mode\":\"PSV\",\"uptime_s\":" + std::string(uptime);
  out += ",\"placement_digest\":\"" + placement_digest(engine.options()) + "\"";
  out += ",\"cookie_keys_digest\":\"" + cookie_keys_digest(engine.options()) + "\"";
  std::string services;
  for (const engine::Service& s : engine.options().services) {
    if (!services.empty()) services += ',';
    services += "{\"name\":" + runtime::json_quoted(s.name) + ",\"address\":" + runtime::json_quoted(s.address.to_string()) +
                ",\"protocol\":\"" + to_string(s.protocol) + "\",\"servers\":" + std::to_string(s.backends.size()) +
                ",\"past_epochs\":" + std::to_string(s.past_epochs.size()) + "}";
  }
  out += ",\"services\":[" + services + "]";
  const auto gauge = [](const char* name, std::uint64_t value) {
    return "\"" + std::string(name) + "\":" + std::to_string(value);
  };
  out += ",\"gauges\":{" + gauge("recoveries", g.recoveries) + "," + gauge("held_packets", g.held_packets) + "," +
         gauge("held_octets", g.held_octets) + "," + gauge("waiting", g.waiting) + "," + gauge("attempts", g.attempts) + "," +
         gauge("holders_gone", g.holders_gone) + "," + gauge("table_entries", fill.count) + "," +
         gauge("table_maximum", fill.maximum) + "}";
  return out;
}

}  // namespace asrp::node
