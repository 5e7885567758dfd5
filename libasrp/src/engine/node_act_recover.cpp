// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: whom a recovery asks, and what becomes of it when nobody has the session (draft 3.5.4 step 2, 3.5.5; decisions 12,
// 26). Asking, answers and repeats are node_recovery's and node_messages'.
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;
using session::Recovery;
using session::RecoveryKind;

/// For a client's packet the client itself; for one from outside the client whose endpoint it goes to, and those whose it was.
/// Between two clients each may have the session.
void NodeEngine::Impl::act_ask(TimePoint now, Incoming& in, RecoveryKind kind, const Tuple& trigger, bool icmp) {
  const bool from_client = kind == RecoveryKind::client;
  const std::uint32_t slot = start_recovery(now, kind, trigger, from_client && !icmp);
  if (slot == kNoSlot) return;
  if (from_client) add_candidate(recoveries_[slot], trigger.src.address);
  for (const IpAddress& client : act_clients_of(trigger.dst)) {
    if (clients_->has_no_holder(now, client)) continue;
    if (from_client || clients_->take_query(now, client)) add_candidate(recoveries_[slot], client);
  }
  hold(slot, in.view.octets(), icmp);
  ask_round(now, slot, recoveries_[slot].candidates_count);
}

/// RX: what the draft leaves to local handling (3.6).
void NodeEngine::Impl::act_not_found(TimePoint now, std::uint32_t slot, const Side& side) {
  Recovery& recovery = recoveries_[slot];
  if (side.is_clients() && recovery.may_create) act_settle_held(now, recovery, side.range);
  drop_held(recovery, Counter::drops_no_session);
  free_recovery(slot);
}

void NodeEngine::Impl::act_end_in_silence(TimePoint now, std::uint32_t slot, const Side& side) {
  Recovery& recovery = recoveries_[slot];
  bool news = false;
  for (std::size_t i = 0; i < recovery.asked; ++i) {
    const session::Candidate& candidate = recovery.candidates[i];
    if (candidate.answer != session::Answer::silent || !clients_->silent(now, candidate.address)) continue;
    count(Counter::clients_no_holder);
    news = true;
  }
  const bool nobody_left = is_gone(now, side.client);
  if (side.is_clients() && recovery.may_create && nobody_left) act_settle_held(now, recovery, side.range);
  drop_held(recovery, Counter::drops_silence);
  free_recovery(slot);
  if (news) evaluate_all(now);
}

void NodeEngine::Impl::act_unreachable(TimePoint now, const IpAddress& client) {
  if (!clients_->unreachable(now, client)) return;
  count(Counter::clients_no_holder);
  evaluate_all(now);
}

void NodeEngine::Impl::act_heard(TimePoint now, const IpAddress& client) {
  const NatState* nat = config_->nat();
  if (nat != nullptr && nat->knows_client(client) && clients_->heard(now, client)) count(Counter::clients_holder);
}

}  // namespace asrp::engine
