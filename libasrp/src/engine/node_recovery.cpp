// SPDX-License-Identifier: BSD-3-Clause
// Recoveries (draft 3.5.2, 3.5.3, 4.3.6): packets are held, candidates asked, and what is found decides.
#include <algorithm>

#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::Answer;
using session::Candidate;
using session::kNoSlot;
using session::Recovery;
using session::RecoveryKind;

namespace {

QueryInFlight::Kind kind_of(RecoveryKind kind) {
  switch (kind) {
    case RecoveryKind::client:
      return QueryInFlight::Kind::client;
    case RecoveryKind::server:
      return QueryInFlight::Kind::server;
    case RecoveryKind::conflict:
      break;
  }
  return QueryInFlight::Kind::conflict;
}

QueryInFlight::Answer answer_of(session::Answer answer) {
  switch (answer) {
    case session::Answer::silent:
      return QueryInFlight::Answer::silent;
    case session::Answer::no_session:
      return QueryInFlight::Answer::no_session;
    case session::Answer::session:
      break;
  }
  return QueryInFlight::Answer::session;
}

}  // namespace

std::uint32_t NodeEngine::Impl::find_recovery(const Tuple& tuple) const {
  if (recovery_index_.size() == 0) return kNoSlot;
  const Tuple key = normalised(tuple);
  return recovery_index_.find(table_hash(key, seed_),
                              [&](std::uint32_t slot) { return normalised(recoveries_[slot].trigger) == key; });
}

std::vector<QueryInFlight> NodeEngine::Impl::queries(std::size_t most) const {
  std::vector<QueryInFlight> out;
  recoveries_.for_each_slot([&](std::uint32_t slot) {
    if (out.size() >= most) return;
    const Recovery& recovery = recoveries_[slot];
    QueryInFlight query{recovery.trigger, kind_of(recovery.kind), recovery.started, recovery.repeats, recovery.held_count, {}};
    for (std::size_t i = 0; i < recovery.candidates_count; ++i)
      query.asked.push_back({recovery.candidates[i].address,
                             i < recovery.asked ? answer_of(recovery.candidates[i].answer) : QueryInFlight::Answer::not_asked});
    out.push_back(std::move(query));
  });
  return out;
}

std::uint32_t NodeEngine::Impl::start_recovery(TimePoint now, RecoveryKind kind, const Tuple& trigger, bool may_create) {
  const Step step = decide_ask(trigger, Step::ask_candidates);
  if (step == Step::no_local_address) {
    count(Counter::drops_no_local_address);
    return kNoSlot;
  }
  if (step == Step::too_many) {
    count(Counter::drops_recoveries_limit);
    event(now, EventKind::limit_reached, trigger, {}, {}, "recoveries");
    return kNoSlot;
  }
  const std::uint32_t slot = recoveries_.take();
  Recovery& recovery = recoveries_[slot];
  recovery.trigger = trigger;
  recovery.kind = kind;
  recovery.may_create = may_create;
  recovery.started = now;
  recovery_index_.insert(hash(trigger), slot);
  count(Counter::recoveries_started);
  return slot;
}

void NodeEngine::Impl::add_candidate(Recovery& recovery, const IpAddress& address) {
  const auto begin = recovery.candidates.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(recovery.candidates_count);
  // Two servers of one host are one holder: it is asked once.
  if (std::any_of(begin, end, [&](const Candidate& c) { return c.address == address; })) return;
  Candidate& candidate = recovery.candidates[recovery.candidates_count++];
  candidate.address = address;
  // spec: 4.1-3 4.3.2-1 4.3.6-3 cookie and source port are random
  const std::uint64_t random = random_.u64();
  candidate.cookie = query_cookie(static_cast<std::uint32_t>(random >> 32));
  candidate.source_port = static_cast<std::uint16_t>(1024 + (random & 0xffffffff) % (65536 - 1024));
}

// spec: 3.5.3-1 every node computes the same candidates
void NodeEngine::Impl::recover_client(TimePoint now, Incoming& in, const ServiceState& service, const Tuple& trigger,
                                      bool icmp) {
  const bool may_create = trigger.protocol == Protocol::udp && !icmp;
  const std::uint32_t slot = start_recovery(now, RecoveryKind::client, trigger, may_create);
  if (slot == kNoSlot) return;
  Recovery& recovery = recoveries_[slot];
  const policy::QueryList list = service.pool.query(trigger);
  if (list.cut) count(Counter::recoveries_list_cut);
  const Rounds rounds = rounds_of(service, list);
  for (std::size_t i = 0; i < list.count; ++i) {
    if (rounds.of[i] != 0) add_candidate(recovery, service.options->backends[list.servers[i]].address.address);
  }
  hold(slot, in.view.octets(), icmp);
  ask_round(now, slot, rounds.first);
}

// spec: 3.5.2-1 buffered, and its sender is asked
void NodeEngine::Impl::recover_server(TimePoint now, Incoming& in, const Tuple& trigger, bool icmp) {
  const std::uint32_t slot = start_recovery(now, RecoveryKind::server, trigger, false);
  if (slot == kNoSlot) return;
  const Side side = config_->side_of(trigger);
  const Backend& backend = side.service->options->backends[side.backend];
  if (backend.holder != HolderPresence::no) add_candidate(recoveries_[slot], trigger.src.address);
  hold(slot, in.view.octets(), icmp);
  ask_round(now, slot, recoveries_[slot].candidates_count);
}

bool NodeEngine::Impl::hold(std::uint32_t slot, Octets packet, bool icmp) {
  Recovery& recovery = recoveries_[slot];
  if (recovery.held_count >= config_->options().limits.held_packets_per_session) {
    count(Counter::drops_session_limit);
    return false;
  }
  const std::uint32_t held = held_.take();
  const auto handle = held == kNoSlot ? session::PacketPool::kNone : packets_.store(packet);
  if (handle == session::PacketPool::kNone) {
    if (held != kNoSlot) held_.give_back(held);
    count(Counter::drops_held_limit);
    return false;
  }
  held_[held] = {handle, kNoSlot, icmp};
  if (recovery.last_held == kNoSlot) {
    recovery.first_held = held;
  } else {
    held_[recovery.last_held].next = held;
  }
  recovery.last_held = held;
  ++recovery.held_count;
  count(Counter::packets_held);
  return true;
}

void NodeEngine::Impl::ask_round(TimePoint now, std::uint32_t slot, std::size_t upto) {
  Recovery& recovery = recoveries_[slot];
  recovery.round_started = now;
  recovery.round_begin = recovery.asked;
  recovery.repeats = 0;
  for (; recovery.asked < upto; ++recovery.asked) send_query(now, recovery, recovery.candidates[recovery.asked]);
  evaluate(now, slot);
}

// spec: 4.3.6-1 4.3.6-2 4.3.6-4 from this node's own address to ASRP-PORT of the candidate
void NodeEngine::Impl::send_query(TimePoint now, const Recovery& recovery, const Candidate& candidate) {
  const IpAddress* local = config_->local_ip(candidate.address.family());
  if (local == nullptr) return;
  count(Counter::sent_qs_standalone);
  // spec: 4.1.2-3 the tuple of the triggering packet, as it was
  send_message(now, {*local, candidate.source_port}, {candidate.address, config_->options().port},
               wire::query_session(recovery.trigger, candidate.cookie));
}

void NodeEngine::Impl::evaluate(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  if (recovery.found_by != Recovery::kNobody) {
    // The first in the list wins, also if it is not the first to answer (decision 13).
    bool wait = false;
    for (std::size_t i = 0; i < recovery.found_by && now < recovery.grace_until; ++i) {
      const Candidate& candidate = recovery.candidates[i];
      wait = wait || (candidate.answer == Answer::silent && !is_gone(now, candidate.address));
    }
    if (!wait) return restore(now, slot);
    return schedule_recovery(now, slot);
  }
  const bool silent = std::any_of(
      recovery.candidates.begin(), recovery.candidates.begin() + static_cast<std::ptrdiff_t>(recovery.asked),
      [&](const Candidate& c) { return c.answer == Answer::silent && !(recovery.may_create && is_gone(now, c.address)); });
  if (silent) return schedule_recovery(now, slot);
  if (recovery.asked < recovery.candidates_count) {
    if (second_rounds_.take(now)) {  // spec: 5-4
      count(Counter::recoveries_second_round);
      return ask_round(now, slot, std::min(recovery.candidates_count, recovery.asked + kMaxCandidates));
    }
    count(Counter::recoveries_budget);
  }
  not_found(now, slot);
}

void NodeEngine::Impl::evaluate_all(TimePoint now) {
  recoveries_.for_each_slot([&](std::uint32_t slot) { evaluate(now, slot); });
}

void NodeEngine::Impl::schedule_recovery(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  const NodeTiming& timing = config_->options().timing;
  TimePoint due = recovery.started + timing.query_limit;
  if (recovery.repeats < timing.query_repeats.size()) {
    due = std::min(due, recovery.round_started + timing.query_repeats[recovery.repeats]);
  }
  if (recovery.found_by != Recovery::kNobody) due = std::min(due, recovery.grace_until);
  due = std::max(due, now);
  if (due == recovery.due) return;
  recovery.due = due;
  timers_.add({due, slot, recoveries_.generation(slot), static_cast<std::uint8_t>(TimerKind::recovery)});
}

void NodeEngine::Impl::on_recovery_due(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  const NodeTiming& timing = config_->options().timing;
  recovery.due = TimePoint{};  // its timer is used up
  if (now >= recovery.started + timing.query_limit) {
    if (recovery.found_by != Recovery::kNobody) return restore(now, slot);
    return end_in_silence(now, slot);
  }
  if (recovery.repeats < timing.query_repeats.size() &&
      now >= recovery.round_started + timing.query_repeats[recovery.repeats]) {
    while (recovery.repeats < timing.query_repeats.size() &&
           now >= recovery.round_started + timing.query_repeats[recovery.repeats]) {
      ++recovery.repeats;
    }
    for (std::size_t i = 0; i < recovery.asked; ++i) {
      if (recovery.candidates[i].answer == Answer::silent) send_query(now, recovery, recovery.candidates[i]);
    }
  }
  evaluate(now, slot);
}

// spec: 4.3.7-2 the session is recovered, and what was held goes on by it
void NodeEngine::Impl::restore(TimePoint now, std::uint32_t slot) {
  Recovery& recovery = recoveries_[slot];
  const TuplePair session = recovery.found;
  Install install;
  install.flow.tuples = session;
  install.flow.proven = true;
  install.origin = Origin::restored_rs;
  install.service = config_->service_at(session.client_side.dst, session.client_side.protocol);
  install.asked_since = recovery.started;
  const std::uint32_t pending = find_install(session.client_side);
  if (pending != kNoSlot && installs_[pending].flow.tuples == session) {
    move_held(recovery, installs_[pending], true);
  } else {
    move_held(recovery, install, true);
    // Each SYN has its NS: the connection may be a new one, which has the port of the one that the holder told of.
    install.begins = recovery.begins_with_syn;
    if (install.begins && install.first_item != kNoSlot) {
      install.holder = holder_of(install.service, session);
      if (const auto syn = packet::PacketView::parse(octets_of(items_[install.first_item].packet)))
        consider_path(now, install, *syn);
      plan_ns(install);
    }
    add_install(std::move(install));
  }
  free_recovery(slot);
  join_other_direction(session);
}

/// Both directions of a session may be without it, each with packets held: one answer serves both.
void NodeEngine::Impl::join_other_direction(const TuplePair& session) {
  const std::uint32_t install = find_install(session.client_side);
  if (install == kNoSlot || installs_[install].flow.tuples != session) return;
  for (const Tuple& tuple : {session.client_side, session.server_side}) {
    const std::uint32_t other = find_recovery(tuple);
    if (other == kNoSlot) continue;
    move_held(recoveries_[other], installs_[install], true);
    free_recovery(other);
  }
}

void NodeEngine::Impl::move_held(Recovery& recovery, Install& install, bool with_icmp) {
  for (std::uint32_t held = recovery.first_held; held != kNoSlot;) {
    const session::Held packet = held_[held];
    held_.give_back(held);
    held = packet.next;
    if (packet.icmp && !with_icmp) {
      packets_.release(packet.packet);
      count(Counter::drops_icmp);
      continue;
    }
    Item item;
    item.packet.where = PacketRef::Where::held;
    item.packet.held = packet.packet;
    append_item(install, item);
  }
  recovery.first_held = recovery.last_held = kNoSlot;
  recovery.held_count = 0;
}

void NodeEngine::Impl::drop_held(Recovery& recovery, Counter reason) {
  for (std::uint32_t held = recovery.first_held; held != kNoSlot;) {
    const session::Held packet = held_[held];
    held_.give_back(held);
    packets_.release(packet.packet);
    count(reason);
    held = packet.next;
  }
  recovery.first_held = recovery.last_held = kNoSlot;
  recovery.held_count = 0;
}

void NodeEngine::Impl::free_recovery(std::uint32_t slot) {
  recovery_index_.erase(hash(recoveries_[slot].trigger), slot);
  recoveries_.give_back(slot);
}

}  // namespace asrp::engine
