// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: packets without a session (Tap::stray), of clients and from outside (draft 3.5.4, 3.5.5). Their originals end here.
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;
using session::RecoveryKind;

void NodeEngine::Impl::act_stray_from_client(TimePoint now, Incoming& in, const Side& side) {
  const Hello hello = take_hello(now, in);
  if (hello.broken) return;
  if (hello.cookie) return act_stray_with_hello(now, in, side, hello);
  if (hello.separate) return;
  const Tuple trigger = in.view.tuple();
  const Step step = decide_act_client(now, trigger, act_begins(in.view));
  switch (step) {
    case Step::join_install:
    case Step::join_recovery:
    case Step::send_behind:
      join_in_flight(now, in, trigger, false);
      return;
    case Step::ask_client:
    case Step::no_local_address:
    case Step::too_many:
      return act_ask(now, in, RecoveryKind::client, trigger, false);
    case Step::create:
      return act_create_from_stray(now, in, side, std::nullopt);
    default:
      return act_refuse(now, in, step);
  }
}

/// It has a session that was made meanwhile, or none. Then the client has no backup either: a datagram begins a session, a
/// segment is for the local handling, and nobody is asked (decision 24).
void NodeEngine::Impl::act_stray_with_hello(TimePoint now, Incoming& in, const Side& side, const Hello& hello) {
  const Tuple trigger = in.view.tuple();
  const std::uint32_t pending = find_install(trigger);
  if (pending != kNoSlot) {
    installs_[pending].hello = hello.cookie;
  } else if (!answer_known(now, trigger, *hello.cookie)) {
    const bool begins = in.view.is_udp() || in.view.is_tcp_syn();
    const Step step = begins ? decide_act_create(now, trigger) : decide_act_lost(now, trigger);
    if (begins && step == Step::create) return act_create(now, in, trigger, side.range, hello.cookie, !hello.separate);
    count(Counter::hellos_no_session);
    if (hello.separate) return;
    if (step == Step::create) return act_create_from_stray(now, in, side, hello.cookie);
    return act_refuse(now, in, step);
  }
  if (hello.separate) return;
  if (pending != kNoSlot) {
    join_in_flight(now, in, trigger, false);
  } else {
    send_flow(in.view.octets());
  }
}

void NodeEngine::Impl::act_create_from_stray(TimePoint now, Incoming& in, const Side& side, std::optional<Cookie> hello) {
  if (is_reset(in.view)) return count(Counter::drops_no_session);  // what ends a connection begins none
  act_create(now, in, in.view.tuple(), side.range, hello, true);
}

void NodeEngine::Impl::act_stray_from_outside(TimePoint now, Incoming& in) {
  if (!strip_unwanted(now, in, Counter::discarded_outside)) return;
  const Tuple trigger = in.view.tuple();
  act_join_or_ask(now, in, trigger, decide_act_outside(now, trigger, in.view.is_tcp_syn()), false);
}

/// An ICMP error of a client, or of a router before it, about a packet from outside. It begins nothing.
void NodeEngine::Impl::act_error_from_client(TimePoint now, Incoming& in, const Tuple& trigger) {
  if (is_gone(now, trigger.src.address)) return count(Counter::drops_icmp);
  act_ask(now, in, RecoveryKind::client, trigger, true);
}

void NodeEngine::Impl::act_error_from_outside(TimePoint now, Incoming& in, const Tuple& trigger) {
  act_join_or_ask(now, in, trigger, decide_act_outside(now, trigger, false), true);
}

/// A client's echo request (RFC 5508 REQ-1). No holder has a backup of it: nobody is asked, and it begins a session where
/// there is none. The answer finds that in the kernel, at this gateway alone.
void NodeEngine::Impl::act_echo(TimePoint now, Incoming& in, const Tuple& echo) {
  const Side side = config_->side_of(echo);
  if (side.kind == Side::Kind::none) return count_foreign();
  if (side.kind != Side::Kind::act_client) return count(Counter::drops_icmp);
  if (join_in_flight(now, in, echo, false)) return;
  const Step step = decide_act_create(now, echo);
  if (step != Step::create) return act_refuse(now, in, step);
  act_create(now, in, echo, side.range, std::nullopt, true);
}

void NodeEngine::Impl::act_join_or_ask(TimePoint now, Incoming& in, const Tuple& trigger, Step step, bool icmp) {
  switch (step) {
    case Step::join_install:
    case Step::join_recovery:
    case Step::send_behind:
      join_in_flight(now, in, trigger, icmp);
      return;
    case Step::create:
      if (icmp) return count(Counter::drops_icmp);
      return act_create_from_outside(now, in);
    case Step::refuse:
      return count(Counter::drops_refused);
    case Step::outside_syn:
      return count(Counter::drops_outside_syn);
    case Step::no_holder:
      return count(Counter::drops_no_holder);
    case Step::over_rate:
      return count(Counter::drops_outside_rate);
    default:
      return act_ask(now, in, RecoveryKind::server, trigger, icmp);
  }
}

}  // namespace asrp::engine
