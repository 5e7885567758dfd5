// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/nat_config.hpp"

#include <algorithm>
#include <map>

#include "asrpd-node/config_values.hpp"
#include "config/host_address.hpp"

namespace asrp::node {
namespace {

using config::Reader;
using config::shown;
using config::Writer;
using engine::ExplicitFirst;
using engine::Filtering;
using engine::NatNoSession;
using engine::OnExhausted;
using policy::ClientMapping;
using policy::ClientNetwork;
using policy::ClientOverride;
using policy::PortRangeProblem;

void read_explicit_first(Reader& reader, std::vector<ExplicitFirst>& out) {
  std::vector<std::string> words;
  reader.texts("explicit_first", words);
  if (reader.has("explicit_first")) out.clear();
  for (const std::string& word : words) {
    bool known = false;
    for (const ExplicitFirst each : {ExplicitFirst::any, ExplicitFirst::dns, ExplicitFirst::quic}) {
      if (name_of(each) != word) continue;
      known = true;
      if (std::find(out.begin(), out.end(), each) == out.end()) out.push_back(each);
    }
    if (!known) reader.problem("explicit_first", "found " + shown(word) + ", allowed are \"any\", \"dns\", \"quic\"");
  }
}

/// A list that is there says of each protocol whether it is.
void read_endpoint_independent(Reader& reader, engine::NatOptions& out) {
  std::vector<std::string> words;
  reader.texts("endpoint_independent", words);
  if (reader.has("endpoint_independent")) out.endpoint_independent_udp = out.endpoint_independent_tcp = false;
  for (const std::string& word : words) {
    if (word == "udp") {
      out.endpoint_independent_udp = true;
    } else if (word == "tcp") {
      out.endpoint_independent_tcp = true;
    } else {
      reader.problem("endpoint_independent", "found " + shown(word) + ", allowed are \"udp\", \"tcp\"");
    }
  }
}

/// Names as rules take them; a '+' at the end stands for whatever follows.
void read_interfaces(Reader& reader, std::vector<std::string>& out) {
  constexpr std::size_t kLongest = 15;  // IFNAMSIZ without its end
  reader.texts("interfaces", out);
  for (const std::string& name : out) {
    const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return c > ' ' && c < 0x7f && c != '/' && c != '"' && c != '\\' && c != '!' && c != '\'';
    });
    if (name.empty() || name.size() > kLongest || !plain || name == "+")
      reader.problem("interfaces", "found " + shown(name) + ", allowed are names of interfaces, of 1 to 15 characters");
  }
}

void read_settings(Reader& reader, NatConfig& config) {
  engine::NatOptions& out = config.settings;
  reader.integer("slices", out.ranges.slices, 1, policy::kMaxSlices);
  reader.boolean("port_parity", out.port_parity);
  read_endpoint_independent(reader, out);
  reader.choice<Filtering>(
      "filtering", out.filtering,
      {{"address-port", Filtering::address_port}, {"address", Filtering::address}, {"endpoint", Filtering::endpoint}});
  reader.boolean("hairpin", out.hairpin);
  reader.choice<OnExhausted>("on_exhausted", out.on_exhausted, {{"drop", OnExhausted::drop}, {"icmp", OnExhausted::icmp}});
  reader.choice<NatNoSession>("no_session", out.no_session,
                              {{"create", NatNoSession::create}, {"reset", NatNoSession::reset}, {"drop", NatNoSession::drop}});
  read_explicit_first(reader, out.explicit_first);
  reader.prefixes("untranslated", out.untranslated);
  read_interfaces(reader, config.interfaces);
  reader.duration("keep_ranges", config.keep_ranges, Duration::zero(), std::chrono::hours(24 * 365));
  reader.finish();
}

/// Whether all of it could be read.
bool read_network(Reader& reader, ClientNetwork& out, std::string& name) {
  read_name(reader, "name", name);
  bool sound = reader.require("clients") && reader.prefixes("clients", out.clients);
  sound = reader.require("outside") && reader.prefixes("outside", out.outside) && sound;
  reader.choice<ClientMapping>("mapping", out.mapping, {{"ports", ClientMapping::ports}, {"prefix", ClientMapping::prefix}});
  sound = read_ports(reader, "ports", out.first_port, out.last_port) && sound;
  reader.integer("ports_per_client", out.ports_per_client, 1, 65535);
  if (out.mapping == ClientMapping::prefix) {
    for (const char* const key : {"ports", "ports_per_client"})
      if (reader.has(key)) reader.problem(key, "is given, but mapping is \"prefix\", which keeps ports");
  }
  for (const auto* blocks : {&out.clients, &out.outside}) {
    for (const Prefix& block : *blocks) {
      const std::string why(config::why_no_host(block.address));
      if (why.empty()) continue;
      reader.problem(blocks == &out.clients ? "clients" : "outside",
                     "found " + block.to_string() + ", " + why + "; allowed are networks of hosts");
      sound = false;
    }
  }
  reader.finish();
  return sound;
}

bool read_override(Reader& reader, ClientOverride& out) {
  bool sound = true;
  for (const char* const key : {"client", "outside", "ports"}) sound = reader.require(key) && sound;
  reader.address("client", out.client);
  reader.address("outside", out.outside);
  sound = read_ports(reader, "ports", out.first_port, out.last_port) && sound;
  for (const auto& [key, address] : {std::pair("client", out.client), std::pair("outside", out.outside)}) {
    const std::string why(config::why_no_host(address));
    if (why.empty()) continue;
    sound = false;
    if (reader.has(key) && !address.is_unspecified()) reader.problem(key, "found " + address.to_string() + ", " + why);
  }
  reader.finish();
  return sound;
}

/// What the library finds, in the file's tables.
void report_ranges(const NatConfig& nat, NatTables& tables) {
  policy::PortRangeConfig sound;
  sound.slices = nat.settings.ranges.slices;
  std::vector<std::size_t> networks;
  std::vector<std::size_t> overrides;
  for (std::size_t i = 0; i < tables.networks.size(); ++i) {
    if (!tables.sound_networks[i]) continue;
    networks.push_back(i);
    sound.networks.push_back(nat.settings.ranges.networks[i]);
  }
  // An override belongs to a network: to one that could not be read perhaps.
  for (std::size_t i = 0; i < tables.overrides.size() && networks.size() == tables.networks.size(); ++i) {
    if (!tables.sound_overrides[i]) continue;
    overrides.push_back(i);
    sound.overrides.push_back(nat.settings.ranges.overrides[i]);
  }
  for (const PortRangeProblem& problem : policy::PortRanges::check(sound)) {
    switch (problem.table) {
      case PortRangeProblem::Table::whole:
        tables.nat.problem(problem.key, problem.message);
        break;
      case PortRangeProblem::Table::network:
        tables.networks[networks[problem.index]].problem(problem.key, problem.message);
        break;
      case PortRangeProblem::Table::override_:
        tables.overrides[overrides[problem.index]].problem(problem.key, problem.message);
        break;
    }
  }
}

void check_outside(const Prefix& outside, const NatConfig& nat, const std::vector<IpAddress>& local_ips, Reader& place) {
  for (const IpAddress& own : local_ips)
    if (outside.contains(own))
      place.problem("outside", "found " + outside.to_string() + ", which holds " + own.to_string() +
                                   " of local_ips; outside addresses are routed to the cluster as a whole");
  for (const Prefix& other : nat.settings.untranslated)
    if (outside.overlaps(other))
      place.problem("outside",
                    "found " + outside.to_string() + ", which overlaps " + other.to_string() + " of nat.untranslated");
}

template <typename Wanted>
void add_family(std::vector<Prefix>& out, const std::vector<Prefix>& blocks, Wanted wanted) {
  std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(out), wanted);
}

}  // namespace

bool NatConfig::has_family(Family family) const { return !clients(family).empty(); }

std::vector<Prefix> NatConfig::clients(Family family) const {
  std::vector<Prefix> out;
  for (const ClientNetwork& network : settings.ranges.networks)
    add_family(out, network.clients, [family](const Prefix& p) { return p.family() == family; });
  return out;
}

std::vector<Prefix> NatConfig::outside(Family family) const {
  std::vector<Prefix> out;
  for (const ClientNetwork& network : settings.ranges.networks)
    add_family(out, network.outside, [family](const Prefix& p) { return p.family() == family; });
  for (const ClientOverride& each : settings.ranges.overrides)
    if (each.outside.family() == family) out.push_back(Prefix::of(each.outside));
  return out;
}

bool asks_for_nat(const Reader& top) { return top.has("networks"); }

void read_slice(Reader& node, std::optional<NatConfig>& nat) {
  unsigned slice = 0;
  node.integer("slice", slice, 0, policy::kMaxSlices - 1);
  if (!nat) {
    if (node.has("slice")) node.problem("slice", "is given, but there are no [[networks]]; it is for ACT mode");
    return;
  }
  node.require("slice");
  nat->settings.slice = slice;
}

NatTables read_nat(Reader& top, std::optional<NatConfig>& out) {
  NatTables tables{top.table("nat"), top.tables("networks"), top.tables("overrides"), {}, {}};
  if (!out) {
    for (const char* const key : {"nat", "overrides"})
      if (top.has(key)) top.problem(key, "is given, but there are no [[networks]]; it is for ACT mode");
    return tables;
  }
  read_settings(tables.nat, *out);
  if (tables.networks.empty()) top.problem("networks", "is empty, allowed is at least one network");
  for (Reader& each : tables.networks) {
    ClientNetwork& network = out->settings.ranges.networks.emplace_back();
    tables.sound_networks.push_back(read_network(each, network, out->names.emplace_back()));
  }
  for (Reader& each : tables.overrides)
    tables.sound_overrides.push_back(read_override(each, out->settings.ranges.overrides.emplace_back()));
  return tables;
}

void check_nat(const NatConfig& nat, NatTables& tables, const std::vector<IpAddress>& local_ips, Reader& node) {
  report_ranges(nat, tables);
  const policy::PortRangeConfig& ranges = nat.settings.ranges;
  if (nat.settings.slice >= ranges.slices)
    node.problem("slice", "found " + std::to_string(nat.settings.slice) + ", allowed is 0 to " +
                              std::to_string(ranges.slices - 1) + ", below nat.slices");
  std::map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < nat.names.size(); ++i) {
    if (!nat.names[i].empty() && !names.emplace(nat.names[i], i).second)
      tables.networks[i].problem("name", "found " + shown(nat.names[i]) + " a second time");
    for (const Prefix& outside : ranges.networks[i].outside) check_outside(outside, nat, local_ips, tables.networks[i]);
  }
  for (std::size_t i = 0; i < ranges.overrides.size(); ++i)
    if (tables.sound_overrides[i]) check_outside(Prefix::of(ranges.overrides[i].outside), nat, local_ips, tables.overrides[i]);
  const auto& first = nat.settings.explicit_first;
  if (std::find(first.begin(), first.end(), ExplicitFirst::any) != first.end())
    tables.nat.warning("explicit_first",
                       "\"any\": after the loss of a gateway each UDP packet of a client begins a new session, with another "
                       "outside port perhaps; the client's backup is not asked for");
  const engine::NatOptions& settings = nat.settings;
  if (settings.filtering != Filtering::address_port && !settings.endpoint_independent_udp && !settings.endpoint_independent_tcp)
    tables.nat.warning("filtering", "\"" + std::string(name_of(settings.filtering)) +
                                        "\" has no effect: endpoint_independent names no protocol, and a port of one session "
                                        "takes packets of that session alone");
}

void write_nat(Writer& out, const NatConfig& nat) {
  const engine::NatOptions& s = nat.settings;
  const auto prefixes = [&out](std::string_view key, const std::vector<Prefix>& values) {
    std::vector<std::string> texts;
    for (const Prefix& each : values) texts.push_back(Writer::quoted(each.to_string()));
    out.raw(key, Writer::list(texts));
  };
  out.table("nat");
  out.integer("slices", s.ranges.slices);
  out.boolean("port_parity", s.port_parity);
  std::vector<std::string> independent;
  if (s.endpoint_independent_udp) independent.push_back(Writer::quoted("udp"));
  if (s.endpoint_independent_tcp) independent.push_back(Writer::quoted("tcp"));
  out.raw("endpoint_independent", Writer::list(independent));
  out.text("filtering", name_of(s.filtering));
  out.boolean("hairpin", s.hairpin);
  out.text("on_exhausted", name_of(s.on_exhausted));
  out.text("no_session", name_of(s.no_session));
  std::vector<std::string> first;
  for (const ExplicitFirst each : s.explicit_first) first.push_back(Writer::quoted(std::string(name_of(each))));
  out.raw("explicit_first", Writer::list(first));
  prefixes("untranslated", s.untranslated);
  std::vector<std::string> interfaces;
  for (const std::string& each : nat.interfaces) interfaces.push_back(Writer::quoted(each));
  out.raw("interfaces", Writer::list(interfaces));
  out.duration("keep_ranges", nat.keep_ranges);
  for (std::size_t i = 0; i < s.ranges.networks.size(); ++i) {
    const ClientNetwork& network = s.ranges.networks[i];
    out.item("networks");
    out.text("name", nat.names[i]);
    prefixes("clients", network.clients);
    prefixes("outside", network.outside);
    out.text("mapping", name_of(network.mapping));
    if (network.mapping == ClientMapping::prefix) continue;
    out.text("ports", ports_text(network.first_port, network.last_port));
    out.integer("ports_per_client", network.ports_per_client);
  }
  for (const ClientOverride& each : s.ranges.overrides) {
    out.item("overrides");
    out.text("client", each.client.to_string());
    out.text("outside", each.outside.to_string());
    out.text("ports", ports_text(each.first_port, each.last_port));
  }
}

std::string_view name_of(Filtering filtering) {
  switch (filtering) {
    case Filtering::address_port:
      return "address-port";
    case Filtering::address:
      return "address";
    case Filtering::endpoint:
      return "endpoint";
  }
  return "";
}

std::string_view name_of(OnExhausted on_exhausted) { return on_exhausted == OnExhausted::icmp ? "icmp" : "drop"; }

std::string_view name_of(NatNoSession no_session) {
  switch (no_session) {
    case NatNoSession::create:
      return "create";
    case NatNoSession::reset:
      return "reset";
    case NatNoSession::drop:
      return "drop";
  }
  return "";
}

std::string_view name_of(ExplicitFirst explicit_first) {
  switch (explicit_first) {
    case ExplicitFirst::none:
      return "none";
    case ExplicitFirst::any:
      return "any";
    case ExplicitFirst::dns:
      return "dns";
    case ExplicitFirst::quic:
      return "quic";
  }
  return "";
}

std::string_view name_of(ClientMapping mapping) { return mapping == ClientMapping::prefix ? "prefix" : "ports"; }

}  // namespace asrp::node
