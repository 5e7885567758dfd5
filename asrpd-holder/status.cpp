// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/status.hpp"

#include "frame/packet_edges.hpp"

namespace asrp::holder {

using runtime::CounterLine;

std::vector<CounterLine> counter_lines(const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                                       const HolderDriver::Statistics& driver) {
  std::vector<CounterLine> lines;
  runtime::append_counters<engine::HolderCounter>(lines, engine.counters(),
                                                  [](engine::HolderCounter counter) { return engine::info(counter); });
  frame::append_packet_counters(lines, edges.queue, edges.messages, edges.sender, {driver.bursts, driver.cut_packets, true});
  lines.push_back({"notices.received", driver.notices, "ends of sessions that the kernel told of"});
  lines.push_back({"notices.lost", driver.notices_lost, "times that notices were lost: the socket was full"});
  return lines;
}

std::string status_members(const engine::HolderEngine& engine) {
  const engine::HolderEngine::Gauges g = engine.gauges();
  return "\"gauges\":" +
         frame::gauges_object({{"backups", g.backups}, {"embryonic", g.embryonic}, {"index_octets", g.index_octets}});
}

}  // namespace asrp::holder
