// SPDX-License-Identifier: BSD-3-Clause
// Sessions whose NS asked for an NA: the NS is repeated until it comes (draft 4.3.3, 4.3.4; decision 7).
#include "asrp/wire/message.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;
using session::Waiting;

std::uint32_t NodeEngine::Impl::find_waiting(const Tuple& client_side) const {
  if (waiting_index_.size() == 0) return kNoSlot;
  return waiting_index_.find(hash(client_side),
                             [&](std::uint32_t slot) { return waiting_[slot].tuples.client_side == client_side; });
}

void NodeEngine::Impl::send_ns(TimePoint now, const TuplePair& tuples, Cookie cookie, bool ack_wanted) {
  const IpAddress* local = config_->local_ip(tuples.server_side.family());
  if (local == nullptr) return;
  count(Counter::sent_ns_standalone);
  send_message(now, {*local, config_->options().port}, {config_->holder_of(tuples), config_->options().port},
               wire::new_session(tuples, cookie, *local, ack_wanted));
}

bool NodeEngine::Impl::start_waiting(TimePoint now, const TuplePair& tuples, bool was_unprotected, Duration put_off) {
  const std::uint32_t slot = waiting_.take();
  if (slot == kNoSlot) {
    count(Counter::limit_waiting);
    return false;
  }
  Waiting& waiting = waiting_[slot];
  waiting.tuples = tuples;
  waiting.cookie = config_->cookies().issue(tuples);
  waiting.was_unprotected = was_unprotected;
  const NodeTiming& timing = config_->options().timing;
  waiting.sent = put_off > Duration{} ? 0 : 1;
  waiting.last_sent = now;
  waiting.due = now + (put_off > Duration{} ? put_off : timing.ns_interval * (was_unprotected ? timing.ns_tries : 1));
  waiting_index_.insert(hash(tuples.client_side), slot);
  timers_.add({waiting.due, slot, waiting_.generation(slot), static_cast<std::uint8_t>(TimerKind::waiting)});
  return true;
}

void NodeEngine::Impl::on_waiting_due(TimePoint now, std::uint32_t slot) {
  Waiting& waiting = waiting_[slot];
  if (waiting.was_unprotected) return free_waiting(slot);  // as it was; the next minute tries again
  const NodeTiming& timing = config_->options().timing;
  if (waiting.sent >= timing.ns_tries) {
    const TuplePair tuples = waiting.tuples;
    free_waiting(slot);
    return set_unprotected(now, tuples);
  }
  send_ns(now, waiting.tuples, waiting.cookie, true);
  ++waiting.sent;
  waiting.last_sent = now;
  waiting.due = now + timing.ns_interval;
  timers_.add({waiting.due, slot, waiting_.generation(slot), static_cast<std::uint8_t>(TimerKind::waiting)});
}

// Subsequent packets make the NS anew until an NA comes
void NodeEngine::Impl::remind(TimePoint now, const Tuple& client_side) {
  const std::uint32_t slot = find_waiting(client_side);
  if (slot == kNoSlot) return;
  const Waiting& waiting = waiting_[slot];
  if (waiting.was_unprotected || now < waiting.due) return;  // within the interval: its timer repeats it
  on_waiting_due(now, slot);
}

void NodeEngine::Impl::set_unprotected(TimePoint now, const TuplePair& tuples) {
  flows_.set_mark(tuples.client_side, FlowMark::unprotected);
  pass_attempt(tuples);
  count(Counter::sessions_unprotected);
  event(now, EventKind::session_unprotected, tuples.client_side, tuples, config_->holder_of(tuples), "no NA");
}

// spec: 4.3.4-3 no further NS for this session
void NodeEngine::Impl::acknowledge(std::uint32_t slot) {
  pass_attempt(waiting_[slot].tuples);
  flows_.set_mark(waiting_[slot].tuples.client_side, FlowMark::none);
  count(Counter::sessions_acknowledged);
  free_waiting(slot);
}

/// The NS of a session that is no more must not be repeated: it would make a backup of it.
void NodeEngine::Impl::end_other_waiting(const TuplePair& present) {
  const std::uint32_t slot = find_waiting(present.client_side);
  if (slot != kNoSlot && waiting_[slot].tuples != present) free_waiting(slot);
}

void NodeEngine::Impl::free_waiting(std::uint32_t slot) {
  waiting_index_.erase(hash(waiting_[slot].tuples.client_side), slot);
  waiting_.give_back(slot);
}

void NodeEngine::Impl::on_na(TimePoint now, const Endpoint& from, const wire::Message& message) {
  const std::uint32_t slot = find_waiting(message.st1);
  if (slot == kNoSlot) return discard(now, Counter::discarded_unmatched, message.st1, from.address);
  const Waiting& waiting = waiting_[slot];
  if (waiting.tuples != message.tuples()) return discard(now, Counter::discarded_tuple, message.st1, from.address);
  if (config_->holder_of(waiting.tuples) != from.address) {
    return discard(now, Counter::discarded_address, message.st1, from.address);
  }
  if (waiting.cookie != message.cookie) return discard(now, Counter::discarded_cookie, message.st1, from.address);
  holder_answered(now, from.address);
  acknowledge(slot);
}

}  // namespace asrp::engine
