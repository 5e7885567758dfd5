// SPDX-License-Identifier: BSD-3-Clause
#include "sim/act/plan.hpp"

namespace asrp::sim::act {
namespace {

constexpr std::uint8_t kClientsV4 = 21;  // prefix lengths, with room for kMostClients
constexpr std::uint8_t kClientsV6 = 117;
constexpr std::uint8_t kOutsideV4 = 26;
constexpr unsigned kSlices = 16;

}  // namespace

engine::NodeOptions gateway_options(const Plan& plan, std::size_t gateway) {
  engine::NodeOptions options;
  options.local_ips = {node_address(gateway, Family::v4), node_address(gateway, Family::v6)};
  options.placement_key = repeated_key(0x11);
  options.cookie_keys.sign = repeated_key(0x22);
  options.limits.clients = 1u << 13;
  options.limits.recent_sessions = 1u << 12;
  options.limits.recent_syn = 1u << 13;
  engine::NatOptions& nat = options.nat.emplace();
  policy::ClientNetwork v4;
  v4.clients = {{masked(client_address(0, Family::v4), kClientsV4), kClientsV4}};
  v4.outside = {{outside_address(0, Family::v4), kOutsideV4}};
  v4.ports_per_client = plan.ports_per_client;
  policy::ClientNetwork v6;
  v6.clients = {{masked(client_address(0, Family::v6), kClientsV6), kClientsV6}};
  v6.outside = {{outside_address(0, Family::v6), kClientsV6}};
  v6.mapping = policy::ClientMapping::prefix;
  nat.ranges.networks = {v4, v6};
  nat.ranges.slices = plan.slices ? kSlices : 1;
  nat.slice = plan.slices ? static_cast<unsigned>(gateway) : 0;
  nat.endpoint_independent_udp = plan.endpoint_independent_udp;
  nat.explicit_first = {plan.explicit_first};
  return options;
}

std::vector<IpAddress> outside_addresses() {
  std::vector<IpAddress> addresses;
  for (std::size_t i = 0; i < (1u << (32 - kOutsideV4)); ++i) addresses.push_back(outside_address(i, Family::v4));
  for (std::size_t i = 0; i <= kMostClients + 1; ++i) addresses.push_back(outside_address(i, Family::v6));
  return addresses;
}

}  // namespace asrp::sim::act
