// SPDX-License-Identifier: BSD-3-Clause
// Recoveries that found nothing: RX from all, or silence, which is not the same (decision 12).
#include "asrp/packet/build.hpp"
#include "asrp/packet/checksum.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::Answer;
using session::kNoSlot;
using session::Recovery;
using session::RecoveryKind;

// spec: 3.5.2-2 4.3.8-1 RX from every candidate
void NodeEngine::Impl::not_found(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  count(Counter::recoveries_no_session);
  durations_.no_session.add(now - recovery.started);
  event(now, EventKind::recovery_abandoned, recovery.trigger, {}, {}, "no-session", now - recovery.started);
  const Side side = config_->side_of(recovery.trigger);
  if (side.is_act()) return act_not_found(now, slot, side);
  if (recovery.kind == RecoveryKind::client && side.kind == Side::Kind::client) {
    if (recovery.may_create) {
      silent_in_a_row_.erase(hash(recovery.trigger));
      create_for_held(now, recovery, *side.service);
    } else if (side.service->options->no_session == NoSession::reset && recovery.trigger.protocol == Protocol::tcp &&
               recovery.asked == recovery.candidates_count) {  // whom the rate left out may have the session
      answer_reset(recovery);
    }
  } else if (recovery.kind == RecoveryKind::server && side.kind == Side::Kind::server) {
    const Service& options = *side.service->options;
    if (options.forward == ForwardMode::nat && options.server_initiated) forward_as_is(recovery);
  }
  drop_held(recovery, Counter::drops_no_session);
  free_recovery(slot);
}

void NodeEngine::Impl::end_in_silence(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  count(Counter::recoveries_silence);
  durations_.silence.add(now - recovery.started);
  event(now, EventKind::recovery_abandoned, recovery.trigger, {}, {}, "silence", now - recovery.started);
  const Side side = config_->side_of(recovery.trigger);
  if (side.is_act()) return act_end_in_silence(now, slot, side);
  if (recovery.may_create && side.kind == Side::Kind::client) {
    const ServiceState& service = *side.service;
    // Who is held for down was waited for, because checks may be wrong; its silence counts as RX (decision 12).
    const auto asked_end = recovery.candidates.begin() + static_cast<std::ptrdiff_t>(recovery.asked);
    const bool nobody_left = std::all_of(recovery.candidates.begin(), asked_end, [&](const session::Candidate& c) {
      return c.answer == session::Answer::no_session || counts_as_gone(c.address) || service.is_down(c.address);
    });
    constexpr std::uint8_t kThird = 3;
    const std::uint64_t tag = hash(recovery.trigger);
    const std::uint8_t* before = silent_in_a_row_.find(tag, now, std::chrono::minutes(1));
    const auto in_a_row = static_cast<std::uint8_t>(before == nullptr ? 1 : *before + 1);
    // A SYN is a first packet whatever comes of the question; a datagram may be of a session that has a backup.
    if (nobody_left || recovery.begins_with_syn || in_a_row >= kThird) {
      silent_in_a_row_.erase(tag);
      if (!nobody_left) count(Counter::recoveries_gave_up_silence);
      create_for_held(now, recovery, service);
    } else {
      silent_in_a_row_.put(tag, now, in_a_row);
    }
  }
  drop_held(recovery, Counter::drops_silence);
  free_recovery(slot);
}

void NodeEngine::Impl::answer_reset(Recovery& recovery) {
  for (std::uint32_t held = recovery.first_held; held != kNoSlot; held = held_[held].next) {
    if (held_[held].icmp) continue;
    scratch_.clear();
    packets_.append_to(held_[held].packet, scratch_);
    const auto view = packet::PacketView::parse(scratch_);
    if (!view) continue;
    const std::size_t start = outbox_.mark_start();
    if (!packet::build_reset(*view, outbox_.octets())) continue;
    outbox_.send(OutputKind::send_own, start);
    count(Counter::resets_sent);
    return;
  }
}

/// A backend of a `nat` service that talks on its own account (decision 2): no session of ours, so no send_flow.
void NodeEngine::Impl::forward_as_is(Recovery& recovery) {
  for (std::uint32_t held = recovery.first_held; held != kNoSlot;) {
    const session::Held packet = held_[held];
    const std::size_t start = outbox_.mark_start();
    packets_.append_to(packet.packet, outbox_.octets());
    if (packet::decrement_ttl(MutableOctets(outbox_.octets()).subspan(start))) {
      outbox_.send(OutputKind::send_own, start);
      count(Counter::packets_forwarded);
    } else {
      outbox_.rewind(start);
      count(Counter::drops_ttl);
    }
    packets_.release(packet.packet);
    held_.give_back(held);
    held = packet.next;
  }
  recovery.first_held = recovery.last_held = kNoSlot;
  recovery.held_count = 0;
}

}  // namespace asrp::engine
