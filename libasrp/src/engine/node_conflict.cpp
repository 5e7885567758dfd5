// SPDX-License-Identifier: BSD-3-Clause
// NC: the mapping, or the client's tuple itself, is taken at the holder (draft 4.3.5; decision 6).
#include <algorithm>

#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::Attempt;
using session::kNoSlot;
using session::PacketPool;
using session::RecoveryKind;

namespace {

// Copies of first packets end in groups: each at its own instant would be a wake-up for each new session.
constexpr Duration kAttemptTick = std::chrono::milliseconds(10);

TimePoint next_tick(TimePoint at) {
  const Duration beyond = at.time_since_epoch() % kAttemptTick;
  return beyond == Duration::zero() ? at : at + (kAttemptTick - beyond);
}

}  // namespace

std::uint32_t NodeEngine::Impl::find_attempt(const Tuple& client_side) const {
  if (attempt_index_.size() == 0) return kNoSlot;
  return attempt_index_.find(hash(client_side),
                             [&](std::uint32_t slot) { return attempts_[slot].tuples.client_side == client_side; });
}

bool NodeEngine::Impl::keep_attempt(TimePoint now, const Install& install, bool held) {
  const Tuple& client = install.flow.tuples.client_side;
  const std::uint32_t before = find_attempt(client);
  const RankSet refused = before != kNoSlot ? attempts_[before].tried : RankSet{0};  // also for the SYN that comes again
  if (before != kNoSlot) drop_attempt(before);
  PacketRef& ref = items_[install.first_item].packet;
  // Half of the room is for packets that wait for an answer: a flood of first packets must not take it.
  const bool has_room = packets_.octets() < config_->options().limits.held_octets / 2;
  const std::uint32_t slot = has_room ? attempts_.take() : kNoSlot;
  PacketPool::Handle handle = PacketPool::kNone;
  if (slot != kNoSlot) {
    if (ref.where == PacketRef::Where::held) {
      handle = ref.held;
      ref.held = PacketPool::kNone;  // not to be released with the burst
    } else {
      const bool outbox = ref.where == PacketRef::Where::outbox;
      handle = packets_.store(outbox ? Octets(outbox_.octets()).subspan(ref.start, ref.size) : ref.octets);
    }
  }
  if (handle == PacketPool::kNone) {
    if (slot != kNoSlot) attempts_.give_back(slot);
    count(Counter::limit_attempts);
    return false;
  }
  Attempt& attempt = attempts_[slot];
  attempt.tuples = install.flow.tuples;
  attempt.packet = handle;
  attempt.tries = install.tries;
  attempt.refusals = install.refusals;
  attempt.tried = static_cast<RankSet>(install.tried | refused);
  attempt.ack_wanted = install.ack_wanted;
  attempt.apart = install.plan == NsPlan::standalone;
  attempt.held = held;
  const NodeTiming& timing = config_->options().timing;
  attempt.due = next_tick(now + (held ? timing.ns_interval * (timing.ns_tries + 1) : timing.attempt_copy));
  attempt_index_.insert(hash(client), slot);
  timers_.add({attempt.due, slot, attempts_.generation(slot), static_cast<std::uint8_t>(TimerKind::attempt)});
  return true;
}

void NodeEngine::Impl::drop_attempt(std::uint32_t slot) {
  if (attempts_[slot].held) count(Counter::drops_unchecked);
  packets_.release(attempts_[slot].packet);
  forget_attempt(slot);
}

void NodeEngine::Impl::forget_attempt(std::uint32_t slot) {
  attempt_index_.erase(hash(attempts_[slot].tuples.client_side), slot);
  attempts_.give_back(slot);
}

void NodeEngine::Impl::on_nc(TimePoint now, const Endpoint& from, const wire::Message& message) {
  const bool client_side = message.has(wire::kFlagCc);
  const std::uint32_t attempt = find_attempt(message.st1);
  const std::uint32_t waits = find_waiting(message.st1);
  if (attempt == kNoSlot && waits == kNoSlot && on_nc_of_hello(now, from, message)) return;
  if (attempt == kNoSlot && waits == kNoSlot) return discard(now, Counter::discarded_unmatched, message.st1, from.address);
  const TuplePair tuples = attempt != kNoSlot ? attempts_[attempt].tuples : waiting_[waits].tuples;
  if (config_->holder_of(tuples) != from.address) {
    return discard(now, Counter::discarded_address, message.st1, from.address);
  }
  // Derived from the tuples, so it needs not be kept.
  if (!config_->cookies().verify(tuples, message.cookie))
    return discard(now, Counter::discarded_cookie, message.st1, from.address);
  // The server-side tuple of an NC with F-CC is the older session's.
  if (!client_side && message.st2 != tuples.server_side) {
    return discard(now, Counter::discarded_tuple, message.st1, from.address);
  }
  holder_answered(now, from.address);
  count(client_side ? Counter::conflicts_client_side : Counter::conflicts_server_side);
  // Nothing was stored, so the session must not stay: its packets would reach another session's socket.
  remove_flow(tuples);
  if (waits != kNoSlot) free_waiting(waits);
  if (attempt == kNoSlot) return;
  const ServiceState* service = config_->service_at(message.st1.dst, message.st1.protocol);
  if (service == nullptr) return drop_attempt(attempt);
  if (!client_side) return next_mapping(now, attempt, *service);
  // spec: 4.3.5-3 local policy
  if (service->options->on_conflict == ConflictHandling::query) return ask_conflicting(now, attempt, from.address);
  drop_attempt(attempt);
}

/// Full NAT: another port, at the same server. Else the client's port decides alone, and it is another session's at this
/// server: another server of those that are asked in a recovery, as with a conflict in this node's own table.
void NodeEngine::Impl::next_mapping(TimePoint now, std::uint32_t slot, const ServiceState& service) {
  const Attempt attempt = attempts_[slot];
  forget_attempt(slot);
  Install install;
  install.flow.tuples.client_side = attempt.tuples.client_side;
  install.flow.tuples.server_side.dst = attempt.tuples.server_side.dst;
  const bool tcp = attempt.tuples.client_side.protocol == Protocol::tcp;
  install.flow.one_way_suffices = !tcp || service.options->routing == Routing::asymmetric;
  install.origin = Origin::next_mapping;
  install.service = &service;
  install.tries = static_cast<std::uint16_t>(attempt.tries + 1);
  install.refusals = static_cast<std::uint16_t>(attempt.refusals + 1);
  install.tried = attempt.tried;
  install.ack_wanted = attempt.ack_wanted;
  install.no_inline = attempt.apart;
  bool has_server = install.refusals < kMaxMappingTries;
  if (has_server && service.rule.full_nat) {
    const auto same = service.backend_at(attempt.tuples.server_side.dst);
    has_server = same.has_value() && install.tries <= most_ports(service);
    if (same) use_server(install, service.options->backends[*same]);
  } else if (has_server) {
    has_server = choose_another(now, install);
  }
  if (!has_server) {
    count(Counter::drops_mapping);
    packets_.release(attempt.packet);
    return;
  }
  choose_mapping(install);
  Item item;
  item.packet.where = PacketRef::Where::held;
  item.packet.held = attempt.packet;
  append_item(install, item);
  plan_ns(install);
  add_install(std::move(install));
}

/// The holder knows the client's tuple under another mapping: that one is asked for, and used.
void NodeEngine::Impl::ask_conflicting(TimePoint now, std::uint32_t slot, const IpAddress& holder) {
  const Attempt attempt = attempts_[slot];
  forget_attempt(slot);
  std::uint32_t recovery = find_recovery(attempt.tuples.client_side);
  const bool asked = recovery != kNoSlot;
  if (!asked) recovery = start_recovery(now, RecoveryKind::conflict, attempt.tuples.client_side, false);
  if (recovery != kNoSlot) {
    scratch_.clear();
    packets_.append_to(attempt.packet, scratch_);
    hold(recovery, scratch_, false);
  }
  packets_.release(attempt.packet);
  if (recovery == kNoSlot || asked) return;
  add_candidate(recoveries_[recovery], holder);
  ask_round(now, recovery, 1);
}

}  // namespace asrp::engine
