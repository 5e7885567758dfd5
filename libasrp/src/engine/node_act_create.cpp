// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: new sessions, and the choice of their outside ports (decisions 24, 25). A gateway creates in its own slice of the
// client's range; whether a port is free the session table tells when the session is installed.
#include "asrp/packet/build.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

namespace {

/// Ports tried for one packet. More than a slice has, as networks are made; where one has very many, a first packet must not
/// keep the node busy with all of them.
constexpr std::uint16_t kMaxPortTries = 1024;
constexpr std::uint16_t kClosingUsed = 0xffff;
/// A client without a port is told of once in this time.
constexpr Duration kTellExhausted = std::chrono::minutes(1);

}  // namespace

/// Session and mapping of a client's packet. False: its slice has no port at all, or the mapping that it goes to has ended
/// since the decision (other threads make and end mappings).
bool NodeEngine::Impl::act_map(Install& install, const Tuple& packet, const policy::PortRange& range) const {
  const auto destination = act_destination(packet);
  if (!destination) return false;
  install.flow.tuples.client_side = packet;
  install.flow.tuples.server_side = {{}, *destination, packet.protocol};
  install.flow.one_way_suffices = true;
  install.range = range;
  return act_choose_port(install);
}

/// The port by which the client's endpoint is known already, if one port is for all its sessions; else the first from the
/// install's try on that is no other endpoint's (RFC 4787 REQ-1, REQ-3: none is overloaded).
bool NodeEngine::Impl::act_choose_port(Install& install) const {
  const NatState& nat = *config_->nat();
  const Tuple& client = install.flow.tuples.client_side;
  const policy::PortUse use = nat.use_of(client.protocol);
  Endpoint& src = install.flow.tuples.server_side.src;
  const bool shared = use == policy::PortUse::endpoint && !install.range.keeps_port;
  if (shared && !install.mapping_failed) {  // at each try: another worker may have given it one meanwhile
    const auto known = flows_.outside_of(client.protocol, client.src);
    install.by_mapping = known && nat.ranges.in_range(client.src, *known);
    if (install.by_mapping) {
      src = *known;
      return true;
    }
  }
  for (; install.tries <= kMaxPortTries; ++install.tries) {
    const auto outside = policy::choose_port(install.range, nat.choice, use, client, install.tries - 1u);
    if (!outside) return false;
    const auto other = shared ? flows_.inside_of(client.protocol, *outside) : std::nullopt;
    if (other && *other != client.src) continue;
    src = *outside;
    return true;
  }
  return false;
}

/// The next port of the slice. One of a closed connection that is still remembered (TIME_WAIT) is passed over while another is
/// free, as RFC 5382 and 6056 want, and taken when none is.
NodeCounter NodeEngine::Impl::act_next_port(TimePoint now, Install& install) {
  if (install.from_outside) return Counter::drops_conflict;  // its port is given
  if (install.by_mapping) {  // another session has it towards that server: what is left is any port
    install.by_mapping = false;
    install.mapping_failed = true;
    install.tries = 0;
  } else if (install.closing_try == 0) {
    const auto taken = flows_.find(install.flow.tuples.server_side);
    if (taken && taken->closing) install.closing_try = install.tries;
  }
  if (install.closing_try != kClosingUsed && install.tries < kMaxPortTries) {
    ++install.tries;
    if (act_choose_port(install)) return Counter::count_;
  }
  if (install.closing_try != 0 && install.closing_try != kClosingUsed) {
    install.tries = install.closing_try;
    install.closing_try = kClosingUsed;
    act_choose_port(install);
    const auto taken = flows_.find(install.flow.tuples.server_side);
    if (!taken) return Counter::count_;
    if (taken->closing) {
      count(Counter::sessions_port_reused);
      remove_flow(taken->tuples);
      return Counter::count_;
    }
  }
  exhausted_.put(hash(exhausted_key(install.flow.tuples.client_side)), now, 1);
  return Counter::drops_exhausted;
}

void NodeEngine::Impl::act_create(TimePoint now, Incoming& in, const Tuple& packet, const policy::PortRange& range,
                                  std::optional<Cookie> hello, bool goes_on) {
  Install install;
  install.hello = hello;
  install.midstream = in.view.is_tcp() && !in.view.is_tcp_syn();
  if (!act_map(install, packet, range)) return act_refuse(now, in, Step::exhausted);
  const std::uint32_t recovery = find_recovery(packet);
  if (recovery != kNoSlot) {  // its question is answered by this packet
    if (in.view.is_tcp_syn()) {
      drop_held(recoveries_[recovery], Counter::drops_no_session);
    } else {
      move_held(recoveries_[recovery], install, true);
    }
    free_recovery(recovery);
  }
  if (goes_on) {
    Item item;
    item.packet = ref_of(in);
    if (in.tap == Tap::first) item.verdict = in.id;
    append_item(install, item);
  } else if (in.tap == Tap::first) {
    outbox_.drop(in.id);
  }
  add_install(std::move(install));
}

bool NodeEngine::Impl::begins_with_reset(const session::Recovery& recovery) {
  if (recovery.trigger.protocol != Protocol::tcp || recovery.first_held == kNoSlot || held_[recovery.first_held].icmp)
    return false;
  scratch_.clear();
  packets_.append_to(held_[recovery.first_held].packet, scratch_);
  const auto view = packet::PacketView::parse(scratch_);
  return view && is_reset(*view);
}

/// A packet from outside to a client's endpoint that takes it without a session. As if the client had sent first.
void NodeEngine::Impl::act_create_from_outside(TimePoint /*now*/, Incoming& in) {
  const Tuple& packet = in.view.tuple();
  const auto inside = flows_.inside_of(packet.protocol, packet.dst);
  const auto range = inside ? config_->nat()->ranges.range_of(inside->address) : std::nullopt;
  if (!range) return count(Counter::drops_no_session);  // the mapping has ended since the decision
  const Tuple client_side{*inside, packet.src, packet.protocol};
  Item item;
  item.packet = ref_of(in);
  const std::uint32_t pending = find_install(client_side);
  if (pending != kNoSlot) return append_item(installs_[pending], item);
  Install install;
  install.flow.tuples = {client_side, packet.reversed()};
  install.range = *range;
  install.from_outside = true;
  install.flow.begun_by_server = in.view.is_tcp_syn();
  append_item(install, item);
  add_install(std::move(install));
}

/// For the packets held by a recovery that found nothing: as is decided where nobody can be asked.
void NodeEngine::Impl::act_settle_held(TimePoint now, session::Recovery& recovery, const policy::PortRange& range) {
  switch (decide_act_lost(now, recovery.trigger)) {
    case Step::create:
      break;
    case Step::reset:
      return answer_reset(recovery);
    case Step::refuse:
      return drop_held(recovery, Counter::drops_refused);
    case Step::exhausted:
      return drop_held(recovery, Counter::drops_exhausted);
    case Step::no_mapping:
      return drop_held(recovery, Counter::drops_no_range);
    default:
      return;
  }
  if (begins_with_reset(recovery)) return;  // what ends a connection begins none
  Install install;
  install.origin = Origin::after_query;
  install.midstream = recovery.trigger.protocol == Protocol::tcp;
  if (!act_map(install, recovery.trigger, range)) return drop_held(recovery, Counter::drops_exhausted);
  move_held(recovery, install, false);
  if (install.first_item != kNoSlot) add_install(std::move(install));
}

/// Counts and ends a packet of a client that gets no session.
void NodeEngine::Impl::act_refuse(TimePoint now, Incoming& in, Step why) {
  if (in.tap == Tap::first) outbox_.drop(in.id);
  switch (why) {
    case Step::refuse:
      return count(Counter::drops_refused);
    case Step::no_mapping:
      return count(Counter::drops_no_range);
    case Step::exhausted:
      count(Counter::drops_exhausted);
      return tell_exhausted(now, in.view.octets());
    case Step::reset:
      act_reset(in.view);
      break;
    default:
      break;
  }
  count(Counter::drops_no_session);
}

void NodeEngine::Impl::act_reset(const packet::PacketView& segment) {
  const std::size_t start = outbox_.mark_start();
  if (!packet::build_reset(segment, outbox_.octets())) return;
  outbox_.send(OutputKind::send_own, start);
  count(Counter::resets_sent);
}

void NodeEngine::Impl::tell_exhausted(TimePoint now, Octets octets) {
  const auto view = packet::PacketView::parse(octets);
  if (!view) return;
  const IpAddress& client = view->tuple().src.address;
  const std::uint64_t tag = hash({{client, 0}, {client, 0}, Protocol::tcp});
  if (exhausted_.find(tag, now, kTellExhausted) == nullptr) {
    exhausted_.put(tag, now, 1);
    event(now, EventKind::limit_reached, view->tuple(), {}, client, "ports of a client");
  }
  const IpAddress* local = config_->local_ip(client.family());
  if (config_->nat()->options->on_exhausted != OnExhausted::icmp || local == nullptr || !prohibited_.take(now)) return;
  const std::size_t start = outbox_.mark_start();
  packet::build_prohibited(*view, *local, outbox_.octets());
  outbox_.send(OutputKind::send_own, start);
  count(Counter::unreachable_sent);
}

}  // namespace asrp::engine
