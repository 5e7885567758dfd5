// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: what becomes of a packet, apart from doing it; as node_decide for PSV. The taps and explain() share these.
#include <algorithm>

#include "asrp/packet/echo.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

namespace {

// How long it is not tried again whether a client has a port free towards a destination.
constexpr Duration kExhausted = std::chrono::seconds(1);

}  // namespace

Step NodeEngine::Impl::decide_act_syn(TimePoint now, const Tuple& syn) const {
  if (find_install(syn) != kNoSlot) return Step::join_install;
  return decide_act_create(now, syn);
}

Step NodeEngine::Impl::decide_act_create(TimePoint now, const Tuple& packet) const {
  if (!config_->nat()->ranges.range_of(packet.src.address)) return Step::no_mapping;  // a former client
  if (const Step step = decide_create(packet); step != Step::create) return step;
  if (!act_destination(packet)) return Step::no_mapping;
  if (exhausted_.find(hash(exhausted_key(packet)), now, kExhausted) == nullptr) return Step::create;
  // What has its port already needs none.
  const bool shared = config_->nat()->use_of(packet.protocol) == policy::PortUse::endpoint;
  const bool has_port = flows_.find(packet) || (shared && flows_.outside_of(packet.protocol, packet.src));
  return has_port ? Step::create : Step::exhausted;
}

Step NodeEngine::Impl::decide_act_client(TimePoint now, const Tuple& packet, bool begins) const {
  if (const auto step = decide_join(now, packet)) return *step;
  if (begins) return decide_act_create(now, packet);
  if (is_gone(now, packet.src.address)) return decide_act_lost(now, packet);
  return decide_ask(packet, Step::ask_client);
}

/// Nobody has the session of a client's packet, or nobody can be asked.
Step NodeEngine::Impl::decide_act_lost(TimePoint now, const Tuple& packet) const {
  if (packet.protocol == Protocol::udp) return decide_act_create(now, packet);
  switch (config_->nat()->options->no_session) {
    case NatNoSession::create:
      return decide_act_create(now, packet);
    case NatNoSession::reset:
      return Step::reset;
    case NatNoSession::drop:
      break;
  }
  return Step::drop_midstream;
}

Step NodeEngine::Impl::decide_act_outside(TimePoint now, const Tuple& packet, bool begins) const {
  if (const auto step = decide_join(now, packet)) return *step;
  if (act_admits(packet) && (begins || packet.protocol == Protocol::udp)) return decide_create(packet);
  if (begins && packet.protocol == Protocol::tcp) return Step::outside_syn;
  bool has_holder = false;
  bool within_rate = false;
  for (const IpAddress& client : act_clients_of(packet.dst)) {
    if (clients_->has_no_holder(now, client)) continue;
    has_holder = true;
    within_rate = within_rate || clients_->may_query(now, client);
  }
  if (!has_holder) return Step::no_holder;
  return within_rate ? decide_ask(packet, Step::ask_client) : Step::over_rate;
}

bool NodeEngine::Impl::act_begins(const packet::PacketView& view) const {
  if (view.is_tcp()) return view.is_tcp_syn();
  const auto& kinds = config_->nat()->options->explicit_first;
  return std::any_of(kinds.begin(), kinds.end(), [&](ExplicitFirst kind) { return is_first_datagram(kind, view.payload()); });
}

std::optional<Endpoint> NodeEngine::Impl::act_destination(const Tuple& packet) const {
  const NatState& nat = *config_->nat();
  const auto other = nat.ranges.client_of(packet.dst);
  if (!other) {
    // An echo request names no port: where clients share an address it means none of them.
    if (packet::is_icmp(packet.protocol) && nat.is_outside(packet.dst.address)) return std::nullopt;
    return packet.dst;
  }
  if (!nat.options->hairpin) return std::nullopt;
  // Where each client has an address of its own every port is mapped; elsewhere mappings are known by their sessions.
  if (nat.ranges.range_of(*other)->keeps_port) return Endpoint{*other, packet.dst.port};
  if (nat.use_of(packet.protocol) != policy::PortUse::endpoint) return std::nullopt;
  const auto inside = flows_.inside_of(packet.protocol, packet.dst);
  return inside && inside->address == *other ? inside : std::nullopt;
}

bool NodeEngine::Impl::act_admits(const Tuple& packet) const {
  const NatState& nat = *config_->nat();
  const Filtering filtering = nat.options->filtering;
  if (filtering == Filtering::address_port || nat.use_of(packet.protocol) != policy::PortUse::endpoint) return false;
  const auto inside = flows_.inside_of(packet.protocol, packet.dst);
  if (!inside || !nat.ranges.in_range(*inside, packet.dst)) return false;
  return filtering == Filtering::endpoint || flows_.has_session_with(packet.protocol, packet.dst, packet.src.address);
}

NodeEngine::Impl::ClientList NodeEngine::Impl::act_clients_of(const Endpoint& outside) const {
  ClientList list;
  const auto add = [&](const policy::PortRanges& ranges) {
    const auto client = ranges.client_of(outside);
    if (client && list.count < list.clients.size() && std::find(list.begin(), list.end(), *client) == list.end()) {
      list.clients[list.count++] = *client;
    }
  };
  add(config_->nat()->ranges);
  for (const policy::PortRanges& former : config_->nat()->past) add(former);
  return list;
}

Tuple NodeEngine::Impl::exhausted_key(const Tuple& packet) { return {{packet.src.address, 0}, packet.dst, packet.protocol}; }

}  // namespace asrp::engine
