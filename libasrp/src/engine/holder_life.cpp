// SPDX-License-Identifier: BSD-3-Clause
// How long a backup lives: as long as its local session (draft 3.5.1; decisions 15, 18, 19). Sessions are looked up in batches,
// all of a burst in one call, and a bounded number in each, so that nothing waits long.
#include <algorithm>

#include "engine/holder_impl.hpp"

namespace asrp::engine {
namespace {

using session::Life;

constexpr std::size_t kLooksPerBurst = 128;    // that are due by time: 0.2 ms of sock_diag, which a burst's packets wait
constexpr std::size_t kLooksPerEviction = 64;  // at least: most of them make room for the bursts that follow
constexpr std::size_t kLooksPerLoad = 512;     // nobody waits yet
constexpr std::size_t kLooksPerSlice = 256;    // of a reconciliation
constexpr std::uint32_t kSlotsPerSlice = 4096;
constexpr Duration kSliceInterval = std::chrono::milliseconds(5);

}  // namespace

Duration HolderEngine::Impl::linger_of(const Tuple& session) const {
  for (const LocalService& service : options.services) {
    if (service.protocol == session.protocol && service.port == session.dst.port) return service.udp_linger;
  }
  return LocalService{}.udp_linger;
}

void HolderEngine::Impl::begin_life(TimePoint now, std::uint32_t slot, bool ambiguous) {
  // What this burst's look-ups found out is about a former session; the packet of this one is about to reach the stack.
  for (KnownState& known : conflict_states) {
    if (known.slot == slot) known.slot = session::kNoSlot;
  }
  std::erase(evictable, slot);
  life.place(slot, Life::young, now + options.first_look);
  life.set_ambiguous(slot, ambiguous);
}

void HolderEngine::Impl::release(TimePoint now, std::uint32_t slot, HolderCounter reason, std::string_view detail) {
  Event event{.at = now, .kind = EventKind::backup_released, .detail = detail};
  if (const auto backup = table.read(slot)) event.session = backup->tuples;
  table.release(slot);
  life.remove(slot);
  count(reason);
  events.on_event(event);
}

void HolderEngine::Impl::load(TimePoint now) {
  life.start(now);
  const auto loaded = table.load();
  count(HolderCounter::backups_loaded, loaded.backups);
  count(HolderCounter::backups_damaged, loaded.damaged);
  for (std::uint32_t slot = 0; slot < table.slot_limit(); ++slot) {
    want_look(now, slot, Why::load);
    if (looks.size() < kLooksPerLoad && slot + 1 < table.slot_limit()) continue;
    look_up();
    for (std::size_t i = 0; i < looks.size(); ++i) apply(now, looks[i], look_states[i], look_tuples[i]);
    looks.clear();
    look_tuples.clear();
  }
  table.commit();  // if it fails the damaged records are there again at the next start, and no worse
  last_reconciliation = now;
  ready = true;
}

void HolderEngine::Impl::on_session_end(TimePoint now, const Tuple& ended) {
  if (!ready) return;
  if (ended.src.port == 0 || ended.dst.port == 0 || ended.dst.address.is_unspecified()) {
    if (ended.src.address.is_unspecified()) return;  // a listener, or a datagram socket: no session
    count(HolderCounter::notices_partial);
    if (!reconcile_wanted) reconcile_wanted = std::max(now, last_reconciliation + options.reconcile_interval);
    return;
  }
  const std::uint32_t slot = table.find(ended);
  if (slot == session::kNoSlot) return count(HolderCounter::notices_foreign);
  count(HolderCounter::notices);
  if (ended.protocol == Protocol::udp) return life.place(slot, Life::lingering, now + linger_of(ended));
  if (life.is_ambiguous(slot)) return count(HolderCounter::notices_early);
  noticed.push_back(slot);
}

void HolderEngine::Impl::begin_reconciliation(TimePoint now) {
  count(HolderCounter::reconciliations);
  reconcile_wanted.reset();
  reconcile_at = 0;
  reconcile_slice = now;
}

// Does what is due. All look-ups, also those that this burst's NS need, are one call.
void HolderEngine::Impl::maintain(TimePoint now) {
  looks.clear();
  look_tuples.clear();
  for (const std::uint32_t slot : noticed) want_look(now, slot, Why::notice);
  noticed.clear();
  want_due_looks(now);
  if (!reconcile_at && reconcile_wanted && *reconcile_wanted <= now) begin_reconciliation(now);
  want_reconcile_looks(now);
  want_eviction_looks(now);
  want_room_looks(now);
  want_conflict_looks();
  look_up();
  conflict_states.clear();
  evictable.clear();
  giving_way.clear();
  for (std::size_t i = 0; i < looks.size(); ++i) apply(now, looks[i], look_states[i], look_tuples[i]);
  std::reverse(evictable.begin(), evictable.end());
  std::reverse(giving_way.begin(), giving_way.end());
}

void HolderEngine::Impl::want_look(TimePoint now, std::uint32_t slot, Why why) {
  if (!table.in_use(slot)) return;
  const auto backup = table.read(slot);
  if (!backup) return release(now, slot, HolderCounter::backups_damaged, "record lost");
  looks.push_back({slot, why});
  look_tuples.push_back(backup->tuples.server_side);
}

void HolderEngine::Impl::want_due_looks(TimePoint now) {
  due_slots.clear();
  life.take_due(now, kLooksPerBurst, due_slots);
  for (const std::uint32_t slot : due_slots) {
    switch (life.life(slot)) {
      case Life::young:
        want_look(now, slot, Why::first_look);
        break;
      case Life::unseen:
        want_look(now, slot, Why::last_look);
        break;
      case Life::lingering:
        want_look(now, slot, Why::lingering);
        break;
      default:
        want_look(now, slot, Why::ending);
    }
  }
}

void HolderEngine::Impl::want_reconcile_looks(TimePoint now) {
  if (!reconcile_at || now < reconcile_slice) return;
  const std::uint32_t end = std::min(table.slot_limit(), *reconcile_at + kSlotsPerSlice);
  std::size_t wanted = 0;
  std::uint32_t slot = *reconcile_at;
  for (; slot < end && wanted < kLooksPerSlice; ++slot) {
    const Life state = life.life(slot);
    if (state != Life::settled && state != Life::ending) continue;  // the others have their look-up before them
    want_look(now, slot, Why::reconcile);
    ++wanted;
  }
  reconcile_at = slot;
  reconcile_slice = now + kSliceInterval;
  if (slot < table.slot_limit()) return;
  reconcile_at.reset();
  last_reconciliation = now;
}

void HolderEngine::Impl::want_eviction_looks(TimePoint now) {
  if (stores == 0 || life.embryonic() + stores <= options.max_embryonic) return;
  due_slots.clear();
  const std::size_t excess = life.embryonic() + stores - options.max_embryonic;
  life.oldest_embryonic(std::max(excess, kLooksPerEviction), due_slots);
  for (const std::uint32_t slot : due_slots) want_look(now, slot, Why::evict);
}

/// A flow whose entry here has ended may go on: a node that still has it needs no new NS.
void HolderEngine::Impl::want_room_looks(TimePoint now) {
  if (stores == 0 || table.size() + stores <= options.max_backups) return;
  due_slots.clear();
  life.first_lingering(std::min(stores, table.size() + stores - options.max_backups), due_slots);
  for (const std::uint32_t slot : due_slots) want_look(now, slot, Why::room);
}

void HolderEngine::Impl::look_up() {
  look_states.assign(looks.size(), LocalState::none);
  if (looks.empty()) return;
  sessions.look_up(look_tuples, look_states);
  count(HolderCounter::sessions_looked_up, looks.size());
}

void HolderEngine::Impl::apply(TimePoint now, const Look& look, LocalState state, const Tuple& session) {
  if (look.why == Why::taken) {
    inputs[look.slot].is_taken = state == LocalState::live;
    return;
  }
  if (!table.in_use(look.slot)) return;  // another look of this call has released it
  if (look.why == Why::conflict) return conflict_states.push_back({look.slot, state});
  switch (state) {
    case LocalState::none:
      return apply_none(now, look, session);
    case LocalState::opening:
      return apply_opening(now, look);
    case LocalState::time_wait:
      life.set_ambiguous(look.slot, false);
      return life.place(look.slot, Life::ending, now + options.time_wait_recheck);
    case LocalState::live:
      break;
  }
  life.set_ambiguous(look.slot, false);
  // A server that closes first gives its notice in FIN-WAIT-2 and none later: what was reported is looked at again.
  const bool was_reported = look.why == Why::notice || life.life(look.slot) == Life::ending;
  life.place(look.slot, was_reported ? Life::ending : Life::settled, now + options.time_wait_recheck);
}

/// A handshake under way is no session yet: it may end without a notice. Nor is a UDP flow without an answer: anybody can send
/// one datagram from any address, and what that costs must be bounded.
void HolderEngine::Impl::apply_opening(TimePoint now, const Look& look) {
  if (look.why == Why::evict) return evictable.push_back(look.slot);
  life.place(look.slot, Life::unseen, now + options.embryonic_life);
}

void HolderEngine::Impl::apply_none(TimePoint now, const Look& look, const Tuple& session) {
  const bool is_tcp = session.protocol == Protocol::tcp;
  switch (look.why) {
    case Why::load:  // its packet may have been on the way when the last daemon ended
      if (!is_tcp) return ended(now, look.slot, session);
      return life.place(look.slot, Life::unseen, now + options.embryonic_life);
    case Why::first_look:
      return life.place(look.slot, Life::unseen, now + options.embryonic_life - options.first_look);
    case Why::last_look:
      if (!is_tcp) return ended(now, look.slot, session);
      return release(now, look.slot, HolderCounter::released_never_seen, "never seen");
    case Why::lingering:
      return release(now, look.slot, HolderCounter::released_ended, "flow ended");
    case Why::evict:
      return evictable.push_back(look.slot);
    case Why::room:
      return giving_way.push_back(look.slot);
    default:
      return ended(now, look.slot, session);
  }
}

/// Nothing of the local session is left. A node may still have a UDP flow then, and its backup stays until that is over.
void HolderEngine::Impl::ended(TimePoint now, std::uint32_t slot, const Tuple& session) {
  if (session.protocol == Protocol::udp) return life.place(slot, Life::lingering, now + linger_of(session));
  release(now, slot, HolderCounter::released_ended, "session ended");
}

}  // namespace asrp::engine
