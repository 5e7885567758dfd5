// SPDX-License-Identifier: BSD-3-Clause
// Packets without a session (Tap::stray). The kernel has attached an untranslated conntrack: the original ends here, what goes
// on is a copy of ours, behind the session.
#include "asrp/packet/echo.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

void NodeEngine::Impl::on_stray(TimePoint now, Incoming& in) {
  outbox_.drop(in.id);
  if (in.view.is_icmp()) return stray_icmp(now, in);
  const Side side = config_->side_of(in.view.tuple());
  switch (side.kind) {
    case Side::Kind::client:
      return stray_from_client(now, in, *side.service);
    case Side::Kind::server:
      return stray_from_server(now, in);
    case Side::Kind::act_client:
      return act_stray_from_client(now, in, side);
    case Side::Kind::act_server:
      return act_stray_from_outside(now, in);
    case Side::Kind::none:
      return count_foreign();
  }
}

bool NodeEngine::Impl::join_in_flight(TimePoint now, Incoming& in, const Tuple& trigger, bool icmp) {
  const auto step = decide_join(now, trigger);
  if (!step) return false;
  if (*step == Step::join_install) {
    Item item;
    item.packet = ref_of(in);
    append_item(installs_[find_install(trigger)], item);
  } else if (*step == Step::join_recovery) {
    const std::uint32_t recovery = find_recovery(trigger);
    hold(recovery, in.view.octets(), icmp);
    // A packet of the flow may create what an error about it may not.
    if (!icmp && recoveries_[recovery].kind == session::RecoveryKind::client && may_begin_in_midstream(trigger)) {
      recoveries_[recovery].may_create = true;
    }
  } else {
    send_flow(in.view.octets());
  }
  return true;
}

void NodeEngine::Impl::stray_from_client(TimePoint now, Incoming& in, const ServiceState& service) {
  if (!strip_unwanted(now, in, Counter::discarded_client)) return;
  const Tuple trigger = in.view.tuple();
  if (join_in_flight(now, in, trigger, false)) return;
  const Step step = decide_client(now, service, trigger, is_explicit_first(service, in.view));
  if (step == Step::create || step == Step::refuse) return create(now, in, service);
  recover_client(now, in, service, trigger, false);
}

void NodeEngine::Impl::stray_from_server(TimePoint now, Incoming& in) {
  const auto found = find_message(now, in.view);
  bool separate = false;
  if (found) {
    const auto session = verified_ps(now, in, *found);
    separate = found->separate;
    if (!strip(in, *found)) {
      count(Counter::drops_malformed);
      return;
    }
    if (separate) count(Counter::packets_consumed);
    if (session) return go_with_ps(now, in, *session, separate);
    if (separate) return;
  }
  const Tuple trigger = in.view.tuple();
  if (!join_in_flight(now, in, trigger, false)) recover_server(now, in, trigger, false);
}

void NodeEngine::Impl::go_with_ps(TimePoint now, Incoming& in, const TuplePair& session, bool separate) {
  const std::uint32_t pending = find_install(in.view.tuple());
  const bool contradicts = pending != session::kNoSlot && installs_[pending].flow.tuples != session;
  if (contradicts) return refuse_contradiction(now, in);
  if (pending == session::kNoSlot) restore_by_ps(in, session);
  if (!separate) join_in_flight(now, in, in.view.tuple(), false);
}

// A PS restores without a query; what waited for an answer goes with it
std::uint32_t NodeEngine::Impl::restore_by_ps(const Incoming& in, const TuplePair& session) {
  Install install;
  install.flow.tuples = session;
  install.flow.proven = true;
  install.origin = Origin::restored_ps;
  install.service = config_->service_at(session.client_side.dst, session.client_side.protocol);
  for (const Tuple& tuple : {in.view.tuple(), session.client_side}) {
    const std::uint32_t recovery = find_recovery(tuple);
    if (recovery == session::kNoSlot) continue;
    install.asked_since = recoveries_[recovery].started;
    move_held(recoveries_[recovery], install, true);
    free_recovery(recovery);
  }
  const std::uint32_t slot = add_install(std::move(install));
  acknowledge_by_ps(session);
  return slot;
}

/// A PS says what an NA would: the holder has the session.
void NodeEngine::Impl::acknowledge_by_ps(const TuplePair& session) {
  const std::uint32_t waits = find_waiting(session.client_side);
  if (waits != session::kNoSlot && waiting_[waits].tuples == session) acknowledge(waits);
}

// An ICMP error about an unknown session asks for the session of the packet that it quotes, seen from the other side.
void NodeEngine::Impl::stray_icmp(TimePoint now, Incoming& in) {
  const auto quoted = packet::quoted_tuple(in.view);
  if (!quoted) {
    const auto echo = config_->nat() != nullptr ? packet::echo_request_tuple(in.view) : std::nullopt;
    if (echo) return act_echo(now, in, *echo);
    return count(Counter::drops_icmp);
  }
  // About a message: nobody has a backup of that, and nobody may be asked for one.
  if (quoted->protocol == Protocol::udp && quoted->dst.port == config_->options().port) return count(Counter::drops_icmp);
  const Tuple trigger = quoted->reversed();
  const Side side = config_->side_of(trigger);
  if (side.kind == Side::Kind::none) return count_foreign();
  if (join_in_flight(now, in, trigger, true)) return;
  switch (side.kind) {
    case Side::Kind::client:
      return recover_client(now, in, *side.service, trigger, true);
    case Side::Kind::server:
      return recover_server(now, in, trigger, true);
    case Side::Kind::act_client:
      return act_error_from_client(now, in, trigger);
    case Side::Kind::act_server:
      return act_error_from_outside(now, in, trigger);
    case Side::Kind::none:
      return;
  }
}

}  // namespace asrp::engine
