// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/past_ranges.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "asrpd-node/config_values.hpp"
#include "asrpd-node/json_number.hpp"
#include "runtime/files.hpp"

namespace asrp::node {
namespace {

using nlohmann::json;
using policy::ClientMapping;
using policy::ClientNetwork;
using policy::ClientOverride;
using policy::PortRangeConfig;
using policy::PortRanges;

constexpr std::int64_t kLatest = kLastSecond * 1000;

/// What decides about ranges; the first line of the canonical text is of slices.
std::string plan_of(const PortRangeConfig& config) {
  const std::string text = PortRanges(config).canonical();
  return text.substr(text.find('\n'));
}

json texts_of(const std::vector<Prefix>& prefixes) {
  json out = json::array();
  for (const Prefix& each : prefixes) out.push_back(each.to_string());
  return out;
}

json to_json(const FormerRanges& ranges) {
  json networks = json::array();
  for (std::size_t i = 0; i < ranges.ranges.networks.size(); ++i) {
    const ClientNetwork& network = ranges.ranges.networks[i];
    networks.push_back({{"name", ranges.names[i]},
                        {"clients", texts_of(network.clients)},
                        {"outside", texts_of(network.outside)},
                        {"mapping", name_of(network.mapping)},
                        {"first_port", network.first_port},
                        {"last_port", network.last_port},
                        {"ports_per_client", network.ports_per_client}});
  }
  json overrides = json::array();
  for (const ClientOverride& each : ranges.ranges.overrides)
    overrides.push_back({{"client", each.client.to_string()},
                         {"outside", each.outside.to_string()},
                         {"first_port", each.first_port},
                         {"last_port", each.last_port}});
  return {{"began", ranges.began},
          {"ended", ranges.ended},
          {"slices", ranges.ranges.slices},
          {"networks", networks},
          {"overrides", overrides}};
}

/// nlohmann throws on whatever is not as expected; this throws on what it does not know of.
[[noreturn]] void refuse() { throw std::invalid_argument("not what a node writes"); }

template <typename Number>
Number number_of(const json& object, const char* name, std::int64_t most = std::numeric_limits<Number>::max()) {
  return static_cast<Number>(whole_number(object.at(name), most));
}

std::vector<Prefix> prefixes_of(const json& texts) {
  std::vector<Prefix> out;
  if (!texts.is_array()) refuse();
  for (const json& each : texts) {
    const auto prefix = Prefix::parse(each.get<std::string>());
    if (!prefix) refuse();
    out.push_back(*prefix);
  }
  return out;
}

IpAddress address_of(const json& object, const char* name) {
  const auto address = IpAddress::parse(object.at(name).get<std::string>());
  if (!address) refuse();
  return *address;
}

ClientNetwork network_of(const json& object) {
  ClientNetwork out;
  out.clients = prefixes_of(object.at("clients"));
  out.outside = prefixes_of(object.at("outside"));
  const auto mapping = object.at("mapping").get<std::string>();
  if (mapping != name_of(ClientMapping::ports) && mapping != name_of(ClientMapping::prefix)) refuse();
  out.mapping = mapping == name_of(ClientMapping::prefix) ? ClientMapping::prefix : ClientMapping::ports;
  out.first_port = number_of<std::uint16_t>(object, "first_port");
  out.last_port = number_of<std::uint16_t>(object, "last_port");
  out.ports_per_client = number_of<std::uint32_t>(object, "ports_per_client");
  return out;
}

FormerRanges from_json(const json& object) {
  FormerRanges out;
  out.began = number_of<std::int64_t>(object, "began", kLatest);
  out.ended = number_of<std::int64_t>(object, "ended", kLatest);
  out.ranges.slices = number_of<unsigned>(object, "slices");
  if (!object.at("networks").is_array() || !object.at("overrides").is_array()) refuse();
  for (const json& each : object.at("networks")) {
    out.ranges.networks.push_back(network_of(each));
    out.names.push_back(each.at("name").get<std::string>());
    if (!is_name(out.names.back())) refuse();
  }
  for (const json& each : object.at("overrides"))
    out.ranges.overrides.push_back({address_of(each, "client"), address_of(each, "outside"),
                                    number_of<std::uint16_t>(each, "first_port"), number_of<std::uint16_t>(each, "last_port")});
  if (out.ranges.networks.empty() || !PortRanges::check(out.ranges).empty()) refuse();
  return out;
}

std::string file_in(const std::string& directory) { return directory + "/ranges.json"; }

}  // namespace

RangesState next_ranges(const RangesState& before, const NatConfig& nat, std::int64_t now) {
  RangesState out;
  out.current = FormerRanges{nat.settings.ranges, nat.names, now, 0};
  if (!before.current) return out;
  const std::string plan = plan_of(nat.settings.ranges);
  if (plan_of(before.current->ranges) == plan) {
    out.current->began = before.current->began;
  } else {
    out.past.push_back(*before.current);
    // A clock that was set back ends nothing before it began.
    out.past.back().ended = std::max(now, before.current->began);
  }
  for (const FormerRanges& each : before.past)
    if (out.past.size() < kMaxPastRanges && plan_of(each.ranges) != plan) out.past.push_back(each);
  return out;
}

void set_former(NatConfig& nat, const RangesState& state) {
  nat.former = state.past;
  nat.settings.past_ranges.clear();
  for (const FormerRanges& each : state.past) nat.settings.past_ranges.push_back(each.ranges);
}

std::string ranges_json(const RangesState& state) {
  json past = json::array();
  for (const FormerRanges& each : state.past) past.push_back(to_json(each));
  json root = {{"version", 1}, {"past", past}};
  if (state.current) root["current"] = to_json(*state.current);
  return root.dump() + "\n";
}

std::optional<RangesState> parse_ranges(const std::string& text) {
  try {
    const json root = json::parse(text);
    if (root.at("version") != 1) return std::nullopt;
    RangesState state;
    if (root.contains("current")) state.current = from_json(root["current"]);
    if (!root.at("past").is_array() || root["past"].size() > kMaxPastRanges) return std::nullopt;
    for (const json& each : root["past"]) state.past.push_back(from_json(each));
    return state;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

RangesState read_ranges(const std::string& directory) {
  const auto text = runtime::read_file(file_in(directory));
  if (!text || !text->has_value()) return {};
  return parse_ranges(**text).value_or(RangesState{});
}

RangesState load_ranges(const std::string& directory, std::string& trouble) {
  const std::string file = file_in(directory);
  const auto text = runtime::read_file(file);
  if (!text) {
    trouble = text.error().to_string() + "; former port ranges are not known";
    return {};
  }
  if (!text->has_value()) return {};
  if (auto state = parse_ranges(**text)) return std::move(*state);
  std::error_code ignored;
  std::filesystem::rename(file, file + ".unreadable", ignored);
  trouble = file + " is damaged and was renamed to " + file + ".unreadable; former port ranges are not known";
  return {};
}

Result<Done, io::IoError> save_ranges(const std::string& directory, const RangesState& state) {
  return runtime::write_file(file_in(directory), ranges_json(state));
}

FormerSessions::FormerSessions(const engine::NatOptions& nat) : ranges_(nat.ranges), used_(nat.past_ranges.size()) {
  for (const PortRangeConfig& each : nat.past_ranges) past_.emplace_back(each);
}

std::size_t FormerSessions::owner(const engine::FlowEntry& entry) const {
  const auto found = std::find_if(past_.begin(), past_.end(), [&](const PortRanges& ranges) {
    return ranges.in_range(entry.tuples.client_side.src, entry.tuples.server_side.src);
  });
  return static_cast<std::size_t>(found - past_.begin());
}

void FormerSessions::see(const engine::FlowEntry& entry) {
  if (ranges_.in_range(entry.tuples.client_side.src, entry.tuples.server_side.src)) return;
  if (const std::size_t index = owner(entry); index < used_.size()) used_[index] = true;
}

bool FormerSessions::is_orphan(const engine::FlowEntry& entry) const {
  return entry.tuples.client_side.protocol != Protocol::tcp && !ranges_.range_of(entry.tuples.client_side.src.address) &&
         owner(entry) < past_.size();
}

std::vector<std::size_t> FormerSessions::unused(const std::vector<FormerRanges>& former, std::int64_t until) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < used_.size() && i < former.size(); ++i)
    if (!used_[i] && former[i].ended <= until) out.push_back(i);
  return out;
}

}  // namespace asrp::node
