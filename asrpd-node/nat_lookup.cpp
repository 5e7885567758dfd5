// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/nat_lookup.hpp"

#include <algorithm>
#include <array>

#include "asrp/policy/port_choice.hpp"
#include "asrpd-node/config_values.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using policy::ClientMapping;
using policy::ClientNetwork;
using policy::PortRange;
using policy::PortRanges;
using runtime::json_quoted;

/// Ranges of today or of another time.
struct Plan {
  const policy::PortRangeConfig& config;
  const std::vector<std::string>& names;
  std::string time;  // members that say when; empty: today
};

std::vector<Plan> plans_of(const NatConfig& nat) {
  std::vector<Plan> out = {{nat.settings.ranges, nat.names, ""}};
  for (const FormerRanges& each : nat.former)
    out.push_back(
        {each.ranges, each.names, ",\"began\":" + std::to_string(each.began) + ",\"ended\":" + std::to_string(each.ended)});
  return out;
}

std::string network_of(const Plan& plan, const IpAddress& client) {
  const std::vector<ClientNetwork>& networks = plan.config.networks;
  for (std::size_t i = 0; i < networks.size(); ++i)
    for (const Prefix& block : networks[i].clients)
      if (block.contains(client)) return plan.names[i];
  return "";
}

bool has_override(const Plan& plan, const IpAddress& client) {
  const auto& overrides = plan.config.overrides;
  return std::any_of(overrides.begin(), overrides.end(), [&](const auto& each) { return each.client == client; });
}

/// The gateway that makes sessions with this port: the one whose slice it is.
unsigned slice_at(const PortRange& range, std::uint16_t port, unsigned slices) {
  for (unsigned slice = 0; slice + 1 < slices; ++slice)
    if (policy::slice_of(range, slice, slices).contains(port)) return slice;
  return slices - 1;
}

/// The address that follows; behind the highest comes the lowest.
IpAddress after(const IpAddress& address) {
  const Octets from = address.octets();
  std::array<std::uint8_t, 16> octets{};
  std::copy(from.begin(), from.end(), octets.begin());
  for (std::size_t i = from.size(); i-- > 0;)
    if (++octets[i] != 0) break;
  const Octets next = Octets(octets).first(from.size());
  return address.is_v4() ? IpAddress::v4(next) : IpAddress::v6(next);
}

std::string range_members(const Plan& plan, const IpAddress& client, const PortRange& range) {
  return "\"client\":" + json_quoted(client.to_string()) + ",\"network\":" + json_quoted(network_of(plan, client)) +
         ",\"outside\":" + json_quoted(range.outside.to_string()) + ",\"ports\":\"" +
         ports_text(range.first_port, range.last_port) + "\",\"override\":" + (has_override(plan, client) ? "true" : "false");
}

/// Whose it is in one plan; empty if nobody's.
std::string owner_members(const Plan& plan, const Endpoint& outside) {
  const PortRanges ranges(plan.config);
  const auto client = ranges.client_of(outside);
  const auto range = client ? ranges.range_of(*client) : std::nullopt;
  if (!range) return "";
  std::string members = range_members(plan, *client, *range);
  if (!range->keeps_port) members += ",\"slice\":" + std::to_string(slice_at(*range, outside.port, ranges.slices()));
  return members + plan.time;
}

/// False: no more is wanted.
bool put_plan(const Plan& plan, const std::function<bool(std::string_view line)>& put) {
  const PortRanges ranges(plan.config);
  const std::vector<ClientNetwork>& networks = plan.config.networks;
  for (std::size_t i = 0; i < networks.size(); ++i) {
    if (networks[i].mapping == ClientMapping::prefix) {
      if (!put("{\"client\":" + json_quoted(networks[i].clients.front().to_string()) + ",\"network\":" +
               json_quoted(plan.names[i]) + ",\"outside\":" + json_quoted(networks[i].outside.front().to_string()) +
               ",\"ports\":\"kept\",\"override\":false" + plan.time + "}"))
        return false;
      continue;
    }
    for (const Prefix& block : networks[i].clients) {
      // At most 2^32 of them: the configuration was checked.
      for (IpAddress client = block.address; block.contains(client); client = after(client)) {
        const auto range = ranges.range_of(client);
        if (range && !put("{" + range_members(plan, client, *range) + plan.time + "}")) return false;
        if (after(client).is_unspecified()) break;  // the highest address of all
      }
    }
  }
  return true;
}

}  // namespace

std::string lookup_members(const NatConfig& nat, const Endpoint& outside) {
  std::string today;
  std::string former;
  for (const Plan& plan : plans_of(nat)) {
    const std::string owner = owner_members(plan, outside);
    if (plan.time.empty()) {
      today = owner.empty() ? "\"client\":null" : owner;
    } else if (!owner.empty()) {
      former += (former.empty() ? "{" : ",{") + owner + "}";
    }
  }
  return "\"address\":" + json_quoted(outside.address.to_string()) + ",\"port\":" + std::to_string(outside.port) + "," + today +
         (nat.former.empty() ? "" : ",\"former\":[" + former + "]");
}

void put_ranges(const NatConfig& nat, const std::function<bool(std::string_view line)>& put) {
  for (const Plan& plan : plans_of(nat))
    if (!put_plan(plan, put)) return;
}

}  // namespace asrp::node
