// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/flow_rules.hpp"

#include <algorithm>

namespace asrp::node {

const engine::Service* service_at(std::span<const engine::Service> services, const Tuple& client_side) {
  const auto found = std::find_if(services.begin(), services.end(), [&](const engine::Service& s) {
    return s.protocol == client_side.protocol && s.address == client_side.dst;
  });
  return found == services.end() ? nullptr : &*found;
}

bool wants_translation(const engine::NodeOptions& options, const Tuple& client_side) {
  if (service_at(options.services, client_side) != nullptr) return true;
  if (!options.nat) return false;
  const auto holds = [](const std::vector<Prefix>& prefixes, const IpAddress& address) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](const Prefix& p) { return p.contains(address); });
  };
  const std::vector<policy::ClientNetwork>& networks = options.nat->ranges.networks;
  const bool from_client = std::any_of(networks.begin(), networks.end(), [&](const policy::ClientNetwork& network) {
    return holds(network.clients, client_side.src.address);
  });
  const auto is_own = [&](const IpAddress& own) { return own == client_side.dst.address; };
  return from_client && !holds(options.nat->untranslated, client_side.dst.address) &&
         std::none_of(options.local_ips.begin(), options.local_ips.end(), is_own);
}

bool has_usable(const engine::Service* service, const Endpoint& server) {
  return service != nullptr && std::any_of(service->backends.begin(), service->backends.end(), [&](const engine::Backend& b) {
           return b.address == server && b.state != engine::BackendState::disabled;
         });
}

namespace {

bool loses_a_server(const engine::Service& before, const engine::Service* after) {
  return std::any_of(before.backends.begin(), before.backends.end(),
                     [&](const engine::Backend& b) { return !has_usable(after, b.address); });
}

}  // namespace

bool leaves_orphans(std::span<const engine::Service> before, std::span<const engine::Service> after) {
  return std::any_of(before.begin(), before.end(), [&](const engine::Service& s) {
    return s.protocol == Protocol::udp && loses_a_server(s, service_at(after, {{}, s.address, s.protocol}));
  });
}

bool is_orphan(std::span<const engine::Service> before, std::span<const engine::Service> after,
               const engine::FlowEntry& entry) {
  const Tuple& client_side = entry.tuples.client_side;
  return client_side.protocol == Protocol::udp && service_at(before, client_side) != nullptr &&
         !has_usable(service_at(after, client_side), entry.tuples.server_side.dst);
}

}  // namespace asrp::node
