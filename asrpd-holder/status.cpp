// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/status.hpp"

#include "frame/packet_edges.hpp"
#include "runtime/digest.hpp"

namespace asrp::holder {

using runtime::CounterLine;

std::vector<CounterLine> counter_lines(const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                                       const HolderDriver::Statistics& driver, const LoadReporter::Statistics& load) {
  std::vector<CounterLine> lines;
  runtime::append_counters<engine::HolderCounter>(lines, engine.counters(),
                                                  [](engine::HolderCounter counter) { return engine::info(counter); });
  frame::append_packet_counters(lines, edges.queue, edges.messages, edges.sender, {driver.bursts, driver.cut_packets, true});
  lines.push_back({"notices.received", driver.notices, "ends of sessions that the kernel told of"});
  lines.push_back({"notices.lost", driver.notices_lost, "times that notices were lost: the socket was full"});
  lines.push_back({"flows.back", driver.flows_back, "flows without a backup that may ask again: a gateway was found"});
  lines.push_back({"load.sent", load.sent, "load reports sent"});
  lines.push_back({"load.unsent", load.unsent, "load reports that could not be sent"});
  lines.push_back({"load.unmeasured", load.unmeasured, "times that the load could not be measured"});
  return lines;
}

std::string status_members(const engine::HolderEngine& engine, const LoadConfig& load) {
  const engine::HolderEngine::Gauges g = engine.gauges();
  std::string digest;
  if (load.enabled) {
    const HashKey keys[] = {load.key.value};
    digest = "\"load_keys_digest\":\"" + runtime::keys_digest(keys) + "\",";
  }
  return digest + "\"gauges\":" +
         frame::gauges_object({{"backups", g.backups},
                               {"embryonic", g.embryonic},
                               {"index_octets", g.index_octets},
                               {"act_backups", g.act_backups},
                               {"hellos", g.hellos},
                               {"routes_proven", g.routes_proven},
                               {"routes_absent", g.routes_absent},
                               {"routes_unknown", g.routes_unknown}});
}

void add_metrics(runtime::MetricsPage& page, const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                 const HolderDriver::Statistics& driver, const LoadReporter::Statistics& load) {
  const engine::HolderEngine::Gauges g = engine.gauges();
  const engine::HolderOptions& options = engine.options();
  const auto gauge = [&page](const char* name, const char* help, std::uint64_t value) {
    page.gauge(name, help, static_cast<double>(value));
  };
  gauge("backups", "backups kept, embryonic ones included", g.backups);
  gauge("backups_embryonic", "backups whose local session has not been seen yet", g.embryonic);
  gauge("backups_maximum", "backups that may be kept", options.max_backups);
  gauge("backups_embryonic_maximum", "embryonic backups that may be kept", options.max_embryonic);
  gauge("act_backups", "backups of sessions in which this host is the client", g.act_backups);
  gauge("hellos", "sessions that have sent an HS within the last minute and have no backup, or a new one", g.hellos);
  gauge("routes_proven", "routes, former ones too, with a gateway that answers HS", g.routes_proven);
  gauge("routes_absent", "routes, former ones too, without a gateway that answers HS", g.routes_absent);
  gauge("routes_unknown", "routes, former ones too, of which it was not found out", g.routes_unknown);
  gauge("index_bytes", "octets of the index over the backups", g.index_octets);
  page.histogram("slow_path_duration_seconds",
                 "for each packet that the daemon got, the time from the burst's receipt to its verdicts", driver.slow_path);
  page.counters(counter_lines(engine, edges, driver, load));
}

}  // namespace asrp::holder
