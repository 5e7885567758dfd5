// SPDX-License-Identifier: BSD-3-Clause
// The seam between the modes: whose packets are ours, which sessions may exist, who has their backups, and what to do when a
// mapping is taken. Bursts, recoveries, answers and timers ask here and know no mode.
#include <algorithm>

#include "engine/node_impl.hpp"

namespace asrp::engine {

Side NodeConfig::side_of(const Tuple& packet) const {
  Side side;
  if (const ServiceState* service = service_at(packet.dst, packet.protocol)) {
    side.kind = Side::Kind::client;
    side.service = service;
  } else if (const auto server = server_of(packet)) {
    side.kind = Side::Kind::server;
    side.service = &services_[server->service];
    side.backend = server->backend;
  } else if (nat_ && !nat_->is_untranslated(packet.dst.address)) {
    if (const auto range = nat_->ranges.range_of(packet.src.address)) {
      side.kind = Side::Kind::act_client;
      side.range = *range;
      side.client = packet.src.address;
    } else if (packet.protocol == Protocol::tcp && nat_->knows_client(packet.src.address)) {
      side.kind = Side::Kind::act_client;
      side.client = packet.src.address;
    } else if (const auto client = nat_->client_of(packet.dst)) {
      side.kind = Side::Kind::act_server;
      side.client = *client;
    }
  }
  return side;
}

bool NodeConfig::may_exist(const TuplePair& session) const {
  const ServiceState* service = service_at(session.client_side.dst, session.client_side.protocol);
  if (service != nullptr) return check_legitimacy(service->rule, session) == policy::Legitimacy::legitimate;
  if (!nat_) return false;
  // Of a client that is none any more what is open may end, and that only TCP does by itself.
  if (session.client_side.protocol != Protocol::tcp && !nat_->ranges.range_of(session.client_side.src.address)) return false;
  return !nat_->is_untranslated(session.client_side.dst.address) &&
         check_legitimacy(nat_->ranges, nat_->past, session) == policy::Legitimacy::legitimate;
}

bool NodeConfig::is_act(const TuplePair& session) const {
  return nat_ && service_at(session.client_side.dst, session.client_side.protocol) == nullptr;
}

const IpAddress& NodeConfig::holder_of(const TuplePair& session) const {
  return is_act(session) ? session.client_side.src.address : session.server_side.dst.address;
}

bool NodeConfig::same_holder(const TuplePair& one, const TuplePair& other) const {
  if (is_act(one) != is_act(other)) return false;
  return is_act(one) ? one.client_side.src.address == other.client_side.src.address
                     : one.server_side.dst == other.server_side.dst;
}

void NodeEngine::Impl::count_foreign() {
  count(config_->nat() == nullptr ? Counter::drops_no_service : Counter::drops_no_range);
}

bool NodeEngine::Impl::chooses_port(const Install& install) { return install.is_act() || install.service->rule.full_nat; }

bool NodeEngine::Impl::continues(const Install& install, const FlowEntry& entry) const {
  if (install.is_act()) return !entry.closing && config_->may_exist(entry.tuples);
  return goes_on_by(*install.service, entry);
}

std::uint64_t NodeEngine::Impl::most_ports(const ServiceState& service) {
  return std::min<std::uint64_t>(service.rule.range.size(), kMaxFullNatTries);
}

NodeCounter NodeEngine::Impl::next_try(TimePoint now, Install& install) {
  if (install.is_act()) return act_next_port(now, install);
  if (!install.service->rule.full_nat) {
    if (!choose_another(now, install)) return Counter::drops_mapping;
  } else if (++install.tries > most_ports(*install.service)) {
    return Counter::drops_mapping;
  }
  choose_mapping(install);
  return Counter::count_;
}

bool NodeEngine::Impl::answers(const session::Recovery& recovery, const TuplePair& session) const {
  const bool client_side = session.client_side == recovery.trigger;
  const bool server_side = session.server_side.reversed() == recovery.trigger;
  // Of two clients that reach each other through us, each is asked about either one's packets.
  if (config_->side_of(recovery.trigger).is_act()) return client_side || server_side;
  return recovery.kind == session::RecoveryKind::server ? server_side : client_side;
}

bool NodeEngine::Impl::may_begin_in_midstream(const Tuple& packet) const {
  return packet.protocol == Protocol::udp || config_->side_of(packet).is_act();
}

bool NodeEngine::Impl::is_gone(TimePoint now, const IpAddress& host) const {
  const NatState* nat = config_->nat();
  if (nat == nullptr || holders_.find(host) != nullptr || !nat->knows_client(host)) return counts_as_gone(host);
  return clients_->has_no_holder(now, host);
}

bool NodeEngine::Impl::counts_as_gone(const IpAddress& server) const {
  const Holder* holder = holders_.find(server);
  return holder == nullptr || holder->gone;
}

}  // namespace asrp::engine
