// SPDX-License-Identifier: BSD-3-Clause
#include "sim/plan.hpp"

namespace asrp::sim {
namespace {

policy::Epoch epoch_of(const Plan& plan, const Pool& pool) {
  policy::Epoch epoch;
  epoch.key = repeated_key(0x11);
  for (std::size_t i = 0; i < pool.active; ++i)
    epoch.members.push_back(epoch_member(plan.policy, server_id(i), pool.weights[i], 0));
  return epoch;
}

engine::Service service(const Plan& plan, Protocol protocol, Family family, const Pool& pool, const std::vector<Pool>& past) {
  engine::Service s;
  s.name = to_string(protocol) + (family == Family::v4 ? "4" : "6");
  s.address = {service_address(family), service_port(protocol)};
  s.protocol = protocol;
  s.forward = plan.forward;
  s.pool = kPoolName;
  s.policy = plan.policy;
  s.ranks = plan.policy == policy::SelectionPolicy::hash ? 2 : 3;
  s.routing = plan.routing;
  s.explicit_first = plan.explicit_first;
  if (plan.forward == engine::ForwardMode::full_nat) {
    s.full_nat.addresses = {full_nat_address(family)};
    s.full_nat.first_port = 2000;
    s.full_nat.last_port = static_cast<std::uint16_t>(2000 + plan.full_nat_ports - 1);
  }
  for (std::size_t i = 0; i < pool.active + pool.joining; ++i) {
    engine::Backend backend;
    backend.id = server_id(i);
    backend.degradation = 1u << 20;
    backend.address = {server_address(i, family), server_port(protocol)};
    backend.weight = pool.weights[i];
    backend.state = i < pool.active ? engine::BackendState::active : engine::BackendState::joining;
    s.backends.push_back(backend);
  }
  for (const Pool& former : past) s.past_epochs.push_back(epoch_of(plan, former));
  return s;
}

}  // namespace

engine::NodeOptions node_options(const Plan& plan, std::size_t node, const Pool& pool, const std::vector<Pool>& past) {
  engine::NodeOptions options;
  options.local_ips = {node_address(node, Family::v4), node_address(node, Family::v6)};
  options.placement_key = repeated_key(0x11);
  options.cookie_keys.sign = repeated_key(0x22);
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    for (const Family family : {Family::v4, Family::v6}) {
      options.services.push_back(service(plan, protocol, family, pool, past));
    }
  }
  return options;
}

}  // namespace asrp::sim
