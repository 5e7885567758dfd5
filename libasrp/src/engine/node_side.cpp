// SPDX-License-Identifier: BSD-3-Clause
// The seam between the modes: whose packets are ours, which sessions may exist, who has their backups, and what to do when a
// mapping is taken. Bursts, recoveries, answers and timers ask here and know no mode.
#include "engine/node_impl.hpp"

namespace asrp::engine {

Side NodeConfig::side_of(const Tuple& packet) const {
  if (const ServiceState* service = service_at(packet.dst, packet.protocol)) return {Side::Kind::client, service, 0};
  if (const auto server = server_of(packet)) return {Side::Kind::server, &services_[server->service], server->backend};
  return {};
}

bool NodeConfig::may_exist(const TuplePair& session) const {
  const ServiceState* service = service_at(session.client_side.dst, session.client_side.protocol);
  return service != nullptr && check_legitimacy(service->rule, session) == policy::Legitimacy::legitimate;
}

const IpAddress& NodeConfig::holder_of(const TuplePair& session) const { return session.server_side.dst.address; }

bool NodeConfig::same_holder(const TuplePair& one, const TuplePair& other) const {
  return one.server_side.dst == other.server_side.dst;
}

bool NodeEngine::Impl::chooses_port(const Install& install) { return install.service->rule.full_nat; }

bool NodeEngine::Impl::continues(const Install& install, const FlowEntry& entry) const {
  return goes_on_by(*install.service, entry);
}

NodeCounter NodeEngine::Impl::next_try(TimePoint now, Install& install) {
  if (!install.service->rule.full_nat) {
    if (!choose_another(now, install)) return Counter::drops_mapping;
  } else if (install.tries++ >= kMaxMappingTries) {
    return Counter::drops_mapping;
  }
  choose_mapping(install);
  return Counter::count_;
}

bool NodeEngine::Impl::counts_as_gone(const IpAddress& address) const {
  const Holder* holder = holders_.find(address);
  return holder == nullptr || holder->gone;
}

}  // namespace asrp::engine
