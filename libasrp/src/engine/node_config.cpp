// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_config.hpp"

#include <algorithm>

#include "asrp/packet/echo.hpp"

namespace asrp::engine {
namespace {

std::vector<policy::PoolServer> pool_servers(const Service& service) {
  std::vector<policy::PoolServer> servers;
  for (const Backend& b : service.backends) {
    const bool same_family = b.address.address.family() == service.address.address.family();
    policy::EpochMember member = epoch_member(service.policy, b.id, b.weight, b.priority);
    servers.push_back({std::move(member.id), member.weight, b.state == BackendState::active && same_family,
                       b.state != BackendState::disabled && same_family, member.priority});
  }
  return servers;
}

bool is_ranked(const Service& service, const Backend& b) {
  return b.state == BackendState::active && b.weight != 0 && b.address.address.family() == service.address.address.family();
}

template <typename Less>
std::vector<std::uint16_t> sorted_backends(const Service& service, Less less) {
  std::vector<std::uint16_t> order(service.backends.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint16_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint16_t a, std::uint16_t b) { return less(service.backends[a], service.backends[b]); });
  return order;
}

policy::ServiceRule service_rule(const Service& service, const HashKey& key) {
  policy::ServiceRule rule;
  rule.address = service.address;
  rule.protocol = service.protocol;
  rule.full_nat = service.forward == ForwardMode::full_nat;
  if (rule.full_nat) {
    std::vector<IpAddress> addresses;
    for (const IpAddress& a : service.full_nat.addresses) {
      if (a.family() == service.address.address.family()) addresses.push_back(a);
    }
    rule.range = policy::NatRange(key, std::move(addresses), service.full_nat.first_port, service.full_nat.last_port);
  }
  for (const Backend& b : service.backends) {
    if (b.state != BackendState::disabled) rule.backends.push_back(b.address);
  }
  std::sort(rule.backends.begin(), rule.backends.end());
  return rule;
}

}  // namespace

ServiceState::ServiceState(const Service& service, const HashKey& placement_key)
    : options(&service),
      pool(pool_servers(service), placement_key, service.past_epochs, service.ranks),
      rule(service_rule(service, placement_key)),
      states(service.backends.size(), ServerState::usable),
      by_id_(sorted_backends(service, [](const Backend& a, const Backend& b) { return a.id < b.id; })),
      by_address_(sorted_backends(service, [](const Backend& a, const Backend& b) { return a.address < b.address; })) {
  for (const Backend& b : service.backends) {
    const bool ranked = is_ranked(service, b);
    usable.push_back(ranked);
    usable_count += ranked;
  }
  undrained = usable;
}

void ServiceState::set_state(std::uint16_t backend, ServerState state) {
  states[backend] = state;
  if (!is_ranked(*options, options->backends[backend])) return;
  usable_count -= usable[backend];
  usable[backend] = state == ServerState::usable;
  usable_count += usable[backend];
  undrained[backend] = state != ServerState::drained;
  if (selector) selector->set_usable(backend, state == ServerState::usable);
}

std::optional<std::uint16_t> ServiceState::backend_of(std::string_view id) const {
  const std::vector<Backend>& all = options->backends;
  const auto it = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                   [&](std::uint16_t b, std::string_view name) { return all[b].id < name; });
  return it == by_id_.end() || all[*it].id != id ? std::nullopt : std::optional(*it);
}

bool ServiceState::is_down(const IpAddress& host) const {
  const std::vector<Backend>& all = options->backends;
  const auto begin = std::lower_bound(by_address_.begin(), by_address_.end(), Endpoint{host, 0},
                                      [&](std::uint16_t b, const Endpoint& a) { return all[b].address < a; });
  const auto end = std::find_if(begin, by_address_.end(), [&](std::uint16_t b) { return all[b].address.address != host; });
  return begin != end && std::all_of(begin, end, [&](std::uint16_t b) {
           return all[b].state == BackendState::disabled || states[b] == ServerState::down;
         });
}

std::optional<std::uint16_t> ServiceState::backend_at(const Endpoint& address) const {
  const std::vector<Backend>& all = options->backends;
  const auto it = std::lower_bound(by_address_.begin(), by_address_.end(), address,
                                   [&](std::uint16_t b, const Endpoint& a) { return all[b].address < a; });
  return it == by_address_.end() || all[*it].address != address ? std::nullopt : std::optional(*it);
}

NatState::NatState(const NatOptions& nat, const NodeOptions& node) : options(&nat), ranges(nat.ranges) {
  for (const policy::PortRangeConfig& former : nat.past_ranges) past.emplace_back(former);
  choice = {node.placement_key, ranges.slices(), nat.slice, nat.port_parity, node.port};
}

bool NatState::is_untranslated(const IpAddress& destination) const {
  const std::vector<Prefix>& all = options->untranslated;
  return std::any_of(all.begin(), all.end(), [&](const Prefix& p) { return p.contains(destination); });
}

std::optional<IpAddress> NatState::client_of(const Endpoint& outside) const {
  auto client = ranges.client_of(outside);
  for (std::size_t i = 0; !client && i < past.size(); ++i) client = past[i].client_of(outside);
  return client;
}

bool NatState::is_outside(const IpAddress& address) const {
  const auto holds = [&](const policy::ClientNetwork& network) {
    return std::any_of(network.outside.begin(), network.outside.end(), [&](const Prefix& p) { return p.contains(address); });
  };
  const policy::PortRangeConfig& all = options->ranges;
  return std::any_of(all.networks.begin(), all.networks.end(), holds) ||
         std::any_of(all.overrides.begin(), all.overrides.end(), [&](const auto& each) { return each.outside == address; });
}

bool NatState::knows_client(const IpAddress& address) const {
  return ranges.range_of(address) ||
         std::any_of(past.begin(), past.end(), [&](const policy::PortRanges& former) { return former.range_of(address); });
}

policy::PortUse NatState::use_of(Protocol protocol) const {
  if (packet::is_icmp(protocol)) return policy::PortUse::endpoint;  // RFC 5508 REQ-1a
  const bool independent = protocol == Protocol::udp ? options->endpoint_independent_udp : options->endpoint_independent_tcp;
  return independent ? policy::PortUse::endpoint : policy::PortUse::session;
}

// Keys are the operator's, not an attacker's: a plain mix is enough.
std::size_t NodeConfig::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = static_cast<std::uint64_t>(key.protocol) << 16 | key.endpoint.port;
  for (const std::uint8_t octet : key.endpoint.address.octets()) h = (h ^ octet) * 0x100000001b3;
  return h ^ (h >> 29);
}

NodeConfig::NodeConfig(NodeOptions options)
    : options_(std::move(options)), cookies_(options_.cookie_keys.sign, options_.cookie_keys.accept) {
  if (options_.nat) nat_.emplace(*options_.nat, options_);
  for (const Service& service : options_.services) {
    const auto index = static_cast<std::uint16_t>(services_.size());
    services_.emplace_back(service, options_.placement_key);
    by_address_.emplace(Key{service.address, service.protocol}, index);
    for (std::size_t b = 0; b < service.backends.size(); ++b) {
      if (service.backends[b].state == BackendState::disabled) continue;
      by_server_[Key{service.backends[b].address, service.protocol}].push_back({index, static_cast<std::uint16_t>(b)});
    }
  }
}

const ServiceState* NodeConfig::service_at(const Endpoint& address, Protocol protocol) const {
  const auto it = by_address_.find(Key{address, protocol});
  return it == by_address_.end() ? nullptr : &services_[it->second];
}

std::optional<ServerRef> NodeConfig::server_of(const Tuple& from_server) const {
  const auto it = by_server_.find(Key{from_server.src, from_server.protocol});
  if (it == by_server_.end()) return std::nullopt;
  std::optional<ServerRef> plain_nat;
  for (const ServerRef& ref : it->second) {
    const policy::ServiceRule& rule = services_[ref.service].rule;
    if (!rule.full_nat) {
      if (!plain_nat) plain_nat = ref;
    } else if (rule.range.contains(from_server.dst)) {
      return ref;
    }
  }
  return plain_nat;
}

const IpAddress* NodeConfig::local_ip(Family family) const {
  for (const IpAddress& a : options_.local_ips) {
    if (a.family() == family) return &a;
  }
  return nullptr;
}

bool NodeConfig::is_local(const IpAddress& address) const {
  return std::find(options_.local_ips.begin(), options_.local_ips.end(), address) != options_.local_ips.end();
}

}  // namespace asrp::engine
