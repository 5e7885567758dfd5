// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/nat_status.hpp"

#include "asrp/base/bytes.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::json_quoted;

std::string list_of(const std::vector<Prefix>& prefixes) {
  std::string out;
  for (const Prefix& each : prefixes) out += (out.empty() ? "" : ",") + json_quoted(each.to_string());
  return "[" + out + "]";
}

}  // namespace

std::string mode_members(const NodeConfig& config) {
  if (!config.nat) return "\"mode\":\"PSV\",";
  const engine::NatOptions& nat = config.nat->settings;
  std::string networks;
  for (std::size_t i = 0; i < nat.ranges.networks.size(); ++i) {
    const policy::ClientNetwork& network = nat.ranges.networks[i];
    networks += (networks.empty() ? "" : ",") + std::string("{\"name\":") + json_quoted(config.nat->names[i]) +
                ",\"clients\":" + list_of(network.clients) + ",\"outside\":" + list_of(network.outside) + ",\"mapping\":\"" +
                std::string(name_of(network.mapping)) + "\"}";
  }
  return "\"mode\":\"ACT\",\"slice\":" + std::to_string(nat.slice) + ",\"slices\":" + std::to_string(nat.ranges.slices) +
         ",\"overrides\":" + std::to_string(nat.ranges.overrides.size()) +
         ",\"former_ranges\":" + std::to_string(nat.past_ranges.size()) + ",\"networks\":[" + networks + "],";
}

void add_mode_metrics(runtime::MetricsPage& page, const engine::NodeOptions& options) {
  page.info("mode_info", "what the node is: PSV, a load balancer, or ACT, a source NAT",
            {{"mode", options.nat ? "ACT" : "PSV"}});
  if (!options.nat) return;
  page.gauge("nat_slice", "ACT mode: the part of all port ranges in which this gateway makes sessions; no two have the same",
             static_cast<double>(options.nat->slice));
  page.gauge("nat_slices", "ACT mode: parts of each port range", static_cast<double>(options.nat->ranges.slices));
  page.gauge("nat_former_ranges", "ACT mode: former configurations whose sessions are still served",
             static_cast<double>(options.nat->past_ranges.size()));
  page.gauge("nat_networks", "ACT mode: networks of clients", static_cast<double>(options.nat->ranges.networks.size()));
}

std::string mapping_members(const Mappings::Statistics& mappings) {
  return "\"mappings\":" + std::to_string(mappings.mappings) + ",\"mapped_sessions\":" + std::to_string(mappings.sessions) +
         ",";
}

void add_mapping_metrics(runtime::MetricsPage& page, const Mappings::Statistics& mappings) {
  page.gauge("nat_mappings", "ACT mode: endpoints of clients that have one outside port for all their sessions",
             static_cast<double>(mappings.mappings));
  page.gauge("nat_mapped_sessions", "ACT mode: their sessions", static_cast<double>(mappings.sessions));
}

void append_mapping_counters(std::vector<runtime::CounterLine>& lines, const Mappings::Statistics& mappings) {
  lines.push_back({"mappings.looks", mappings.looks, "ACT mode: looks through the table for clients' mappings"});
  lines.push_back({"mappings.lost", mappings.lost, "ACT mode: times that the kernel could not tell of all sessions that end"});
  lines.push_back({"mappings.taken", mappings.taken, "ACT mode: ports not given because another endpoint has just got them"});
  lines.push_back({"mappings.no_room", mappings.no_room, "ACT mode: sessions that the index of mappings had no room for"});
}

void add_to_placement(runtime::Digest& digest, const engine::NodeOptions& options) {
  if (!options.nat) return;
  const engine::NatOptions& nat = *options.nat;
  digest.add(policy::PortRanges(nat.ranges).canonical());
  digest.add(to_hex(options.placement_key));
  digest.add(nat.port_parity ? "parity" : "any");
  digest.add(nat.endpoint_independent_udp ? "udp by endpoint" : "udp by session");
  digest.add(nat.endpoint_independent_tcp ? "tcp by endpoint" : "tcp by session");
  for (const Prefix& each : nat.untranslated) digest.add(each.to_string());
}

}  // namespace asrp::node
