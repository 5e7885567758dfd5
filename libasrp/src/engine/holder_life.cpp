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

Duration HolderEngine::Impl::linger_of(const Book& book, const Tuple& session) const {
  if (book.role == Role::act) return options.act.udp_linger;
  for (const LocalService& service : options.services) {
    if (service.protocol == session.protocol && service.port == session.dst.port) return service.udp_linger;
  }
  return LocalService{}.udp_linger;
}

void HolderEngine::Impl::begin_life(TimePoint now, Book& book, std::uint32_t slot, bool ambiguous) {
  // What this burst's look-ups found out is about a former session; the packet of this one is about to reach the stack.
  for (Book::KnownState& known : book.conflict_states) {
    if (known.slot == slot) known.slot = session::kNoSlot;
  }
  std::erase(book.evictable, slot);
  book.life.place(slot, Life::young, now + options.first_look);
  book.life.set_ambiguous(slot, ambiguous);
}

void HolderEngine::Impl::release(TimePoint now, Book& book, std::uint32_t slot, HolderCounter reason, std::string_view detail) {
  Event event{.at = now, .kind = EventKind::backup_released, .detail = detail};
  if (const auto backup = book.table.read(slot)) event.session = backup->tuples;
  book.table.release(slot);
  book.life.remove(slot);
  count(reason);
  events.on_event(event);
}

void HolderEngine::Impl::load(TimePoint now) {
  for (Book& book : books) load(now, book);
  ready = true;
}

void HolderEngine::Impl::load(TimePoint now, Book& book) {
  book.life.start(now);
  const auto loaded = book.table.load();
  count(HolderCounter::backups_loaded, loaded.backups);
  count(HolderCounter::backups_damaged, loaded.damaged);
  for (std::uint32_t slot = 0; slot < book.table.slot_limit(); ++slot) {
    want_look(now, book, slot, Why::load);
    if (looks.size() < kLooksPerLoad && slot + 1 < book.table.slot_limit()) continue;
    look_up();
    for (std::size_t i = 0; i < looks.size(); ++i) apply(now, looks[i], look_states[i], look_tuples[i]);
    looks.clear();
    look_tuples.clear();
  }
  book.table.commit();  // if it fails the damaged records are there again at the next start, and no worse
  book.last_reconciliation = now;
}

void HolderEngine::Impl::on_session_end(TimePoint now, const Tuple& ended) {
  if (!ready) return;
  if (ended.src.port == 0 || ended.dst.port == 0 || ended.dst.address.is_unspecified()) {
    if (ended.src.address.is_unspecified()) return;  // a listener, or a datagram socket: no session
    count(HolderCounter::notices_partial);
    for (Book& book : books) {
      if (!book.reconcile_wanted) book.reconcile_wanted = std::max(now, book.last_reconciliation + options.reconcile_interval);
    }
    return;
  }
  bool is_known = false;
  for (Book& book : books) {
    const std::uint32_t slot = book.table.find(ended);
    if (slot == session::kNoSlot) continue;
    is_known = true;
    on_session_end(now, book, slot, ended);
  }
  if (!is_known) count(HolderCounter::notices_foreign);
}

void HolderEngine::Impl::on_session_end(TimePoint now, Book& book, std::uint32_t slot, const Tuple& ended) {
  count(HolderCounter::notices);
  if (ended.protocol == Protocol::udp) return book.life.place(slot, Life::lingering, now + linger_of(book, ended));
  if (book.life.is_ambiguous(slot)) return count(HolderCounter::notices_early);
  book.noticed.push_back(slot);
}

void HolderEngine::Impl::begin_reconciliation(TimePoint now, Book& book) {
  if (book.role == Role::psv) count(HolderCounter::reconciliations);  // both books are wanted at the same time
  book.reconcile_wanted.reset();
  book.reconcile_at = 0;
  book.reconcile_slice = now;
}

// Does what is due. All look-ups, also those that this burst's NS need, are one call.
void HolderEngine::Impl::maintain(TimePoint now) {
  watch_hellos(now);
  looks.clear();
  look_tuples.clear();
  bool stores = false;
  for (Book& book : books) {
    want_looks(now, book);
    stores = stores || book.stores != 0;
  }
  if (stores) want_conflict_looks();
  look_up();
  for (std::size_t i = 0; i < looks.size(); ++i) apply(now, looks[i], look_states[i], look_tuples[i]);
  for (Book& book : books) {
    std::reverse(book.evictable.begin(), book.evictable.end());
    std::reverse(book.giving_way.begin(), book.giving_way.end());
  }
}

void HolderEngine::Impl::want_looks(TimePoint now, Book& book) {
  for (const std::uint32_t slot : book.noticed) want_look(now, book, slot, Why::notice);
  book.noticed.clear();
  want_due_looks(now, book);
  if (!book.reconcile_at && book.reconcile_wanted && *book.reconcile_wanted <= now) begin_reconciliation(now, book);
  want_reconcile_looks(now, book);
  want_eviction_looks(now, book);
  want_room_looks(now, book);
  book.conflict_states.clear();
  book.evictable.clear();
  book.giving_way.clear();
}

void HolderEngine::Impl::want_look(TimePoint now, Book& book, std::uint32_t slot, Why why) {
  if (!book.table.in_use(slot)) return;
  const auto backup = book.table.read(slot);
  if (!backup) return release(now, book, slot, HolderCounter::backups_damaged, "record lost");
  looks.push_back({&book, slot, why});
  look_tuples.push_back(book.inbound(backup->tuples));
}

void HolderEngine::Impl::want_due_looks(TimePoint now, Book& book) {
  due_slots.clear();
  book.life.take_due(now, kLooksPerBurst, due_slots);
  for (const std::uint32_t slot : due_slots) {
    switch (book.life.life(slot)) {
      case Life::young:
        want_look(now, book, slot, Why::first_look);
        break;
      case Life::unseen:
        want_look(now, book, slot, Why::last_look);
        break;
      case Life::lingering:
        want_look(now, book, slot, Why::lingering);
        break;
      default:
        want_look(now, book, slot, Why::ending);
    }
  }
}

void HolderEngine::Impl::want_reconcile_looks(TimePoint now, Book& book) {
  if (!book.reconcile_at || now < book.reconcile_slice) return;
  const std::uint32_t end = std::min(book.table.slot_limit(), *book.reconcile_at + kSlotsPerSlice);
  std::size_t wanted = 0;
  std::uint32_t slot = *book.reconcile_at;
  for (; slot < end && wanted < kLooksPerSlice; ++slot) {
    const Life state = book.life.life(slot);
    if (state != Life::settled && state != Life::ending) continue;  // the others have their look-up before them
    want_look(now, book, slot, Why::reconcile);
    ++wanted;
  }
  book.reconcile_at = slot;
  book.reconcile_slice = now + kSliceInterval;
  if (slot < book.table.slot_limit()) return;
  book.reconcile_at.reset();
  book.last_reconciliation = now;
}

void HolderEngine::Impl::want_eviction_looks(TimePoint now, Book& book) {
  if (book.stores == 0 || book.life.embryonic() + book.stores <= options.max_embryonic) return;
  due_slots.clear();
  const std::size_t excess = book.life.embryonic() + book.stores - options.max_embryonic;
  book.life.oldest_embryonic(std::max(excess, kLooksPerEviction), due_slots);
  for (const std::uint32_t slot : due_slots) want_look(now, book, slot, Why::evict);
}

/// A flow whose entry here has ended may go on: a node that still has it needs no new NS.
void HolderEngine::Impl::want_room_looks(TimePoint now, Book& book) {
  if (book.stores == 0 || book.table.size() + book.stores <= options.max_backups) return;
  due_slots.clear();
  book.life.first_lingering(std::min(book.stores, book.table.size() + book.stores - options.max_backups), due_slots);
  for (const std::uint32_t slot : due_slots) want_look(now, book, slot, Why::room);
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
  Book& book = *look.book;
  if (!book.table.in_use(look.slot)) return;  // another look of this call has released it
  if (look.why == Why::conflict) return book.conflict_states.push_back({look.slot, state});
  switch (state) {
    case LocalState::none:
      return apply_none(now, look, session);
    case LocalState::opening:
      return apply_opening(now, look);
    case LocalState::time_wait:
      book.life.set_ambiguous(look.slot, false);
      return book.life.place(look.slot, Life::ending, now + options.time_wait_recheck);
    case LocalState::live:
      break;
  }
  book.life.set_ambiguous(look.slot, false);
  // A server that closes first gives its notice in FIN-WAIT-2 and none later: what was reported is looked at again.
  const bool was_reported = look.why == Why::notice || book.life.life(look.slot) == Life::ending;
  book.life.place(look.slot, was_reported ? Life::ending : Life::settled, now + options.time_wait_recheck);
}

/// A handshake under way is no session yet: it may end without a notice. Nor is a UDP flow without an answer: anybody can send
/// one datagram from any address, and what that costs must be bounded.
void HolderEngine::Impl::apply_opening(TimePoint now, const Look& look) {
  Book& book = *look.book;
  if (look.why == Why::evict) return book.evictable.push_back(look.slot);
  book.life.place(look.slot, Life::unseen, now + options.embryonic_life);
}

void HolderEngine::Impl::apply_none(TimePoint now, const Look& look, const Tuple& session) {
  Book& book = *look.book;
  const bool is_tcp = session.protocol == Protocol::tcp;
  // A client has its socket, or its flow, before the session has a backup.
  const bool waits = book.role == Role::psv;
  switch (look.why) {
    case Why::load:  // its packet may have been on the way when the last daemon ended
      if (!is_tcp || !waits) return ended(now, book, look.slot, session);
      return book.life.place(look.slot, Life::unseen, now + options.embryonic_life);
    case Why::first_look:
      if (!waits) return ended(now, book, look.slot, session);
      return book.life.place(look.slot, Life::unseen, now + options.embryonic_life - options.first_look);
    case Why::last_look:
      if (!is_tcp) return ended(now, book, look.slot, session);
      return release(now, book, look.slot, HolderCounter::released_never_seen, "never seen");
    case Why::lingering:
      return release(now, book, look.slot, HolderCounter::released_ended, "flow ended");
    case Why::evict:
      return book.evictable.push_back(look.slot);
    case Why::room:
      return book.giving_way.push_back(look.slot);
    default:
      return ended(now, book, look.slot, session);
  }
}

/// Nothing of the local session is left. A node may still have a UDP flow then, and its backup stays until that is over.
void HolderEngine::Impl::ended(TimePoint now, Book& book, std::uint32_t slot, const Tuple& session) {
  if (session.protocol == Protocol::udp) return book.life.place(slot, Life::lingering, now + linger_of(book, session));
  release(now, book, slot, HolderCounter::released_ended, "session ended");
}

}  // namespace asrp::engine
