// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_config.hpp"

#include <algorithm>

namespace asrp::engine {
namespace {

std::vector<policy::PoolServer> pool_servers(const Service& service) {
  std::vector<policy::PoolServer> servers;
  for (const Backend& b : service.backends) {
    const bool same_family = b.address.address.family() == service.address.address.family();
    servers.push_back(
        {b.id, b.weight, b.state == BackendState::active && same_family, b.state != BackendState::disabled && same_family});
  }
  return servers;
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
  return rule;
}

}  // namespace

ServiceState::ServiceState(const Service& service, const HashKey& placement_key)
    : options(&service),
      pool(pool_servers(service), placement_key, service.past_epochs, service.ranks),
      rule(service_rule(service, placement_key)) {}

// Keys are the operator's, not an attacker's: a plain mix is enough.
std::size_t NodeConfig::KeyHash::operator()(const Key& key) const {
  std::uint64_t h = static_cast<std::uint64_t>(key.protocol) << 16 | key.endpoint.port;
  for (const std::uint8_t octet : key.endpoint.address.octets()) h = (h ^ octet) * 0x100000001b3;
  return h ^ (h >> 29);
}

NodeConfig::NodeConfig(NodeOptions options)
    : options_(std::move(options)), cookies_(options_.cookie_keys.sign, options_.cookie_keys.accept) {
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

const ServiceState* NodeConfig::service_of(const TuplePair& session) const {
  const ServiceState* service = service_at(session.client_side.dst, session.client_side.protocol);
  if (service == nullptr || check_legitimacy(service->rule, session) != policy::Legitimacy::legitimate) return nullptr;
  return service;
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
