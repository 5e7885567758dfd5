// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/status.hpp"

#include <cstdio>

#include "runtime/log.hpp"

namespace asrp::holder {

using runtime::CounterLine;

std::vector<CounterLine> counter_lines(const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                                       const HolderDriver::Statistics& driver) {
  std::vector<CounterLine> lines;
  runtime::append_counters<engine::HolderCounter>(lines, engine.counters(),
                                                  [](engine::HolderCounter counter) { return engine::info(counter); });
  const auto queue = edges.queue.statistics();
  lines.push_back({"queue.received", queue.received, "packets that the kernel handed over"});
  lines.push_back({"queue.bursts", driver.bursts, "bursts in which packets and messages were taken"});
  lines.push_back({"queue.overruns", queue.overruns, "times that the kernel could not hand over: the socket was full"});
  lines.push_back({"queue.verdict_errors", queue.verdict_errors, "verdicts that the kernel refused"});
  lines.push_back({"queue.cut", driver.cut_packets, "packets of which the kernel gave a part only; let through as they are"});
  lines.push_back(
      {"messages.lost", edges.messages.lost(), "datagrams to ASRP-PORT that the kernel dropped: the socket was full"});
  const auto sender = edges.sender.statistics();
  lines.push_back({"sender.sent", sender.sent, "packets sent through raw sockets"});
  lines.push_back({"sender.too_big", sender.too_big, "packets larger than the MTU of their route; dropped"});
  lines.push_back({"sender.failed", sender.failed, "packets that could not be sent"});
  lines.push_back({"notices.received", driver.notices, "ends of sessions that the kernel told of"});
  lines.push_back({"notices.lost", driver.notices_lost, "times that notices were lost: the socket was full"});
  return lines;
}

std::string status_members(const engine::HolderEngine& engine, double uptime_seconds) {
  const engine::HolderEngine::Gauges g = engine.gauges();
  char uptime[32];
  std::snprintf(uptime, sizeof uptime, "%.1f", uptime_seconds);
  return "\"program\":\"asrpd-holder\",\"version\":\"" ASRP_VERSION "\",\"mode\":\"PSV\",\"uptime_s\":" + std::string(uptime) +
         ",\"gauges\":{\"backups\":" + std::to_string(g.backups) + ",\"embryonic\":" + std::to_string(g.embryonic) +
         ",\"index_octets\":" + std::to_string(g.index_octets) + "}";
}

}  // namespace asrp::holder
