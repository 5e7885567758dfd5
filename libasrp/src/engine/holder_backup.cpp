// SPDX-License-Identifier: BSD-3-Clause
// NS: conflicts, storing, and what is answered (draft 4.3.3 to 4.3.5; decisions 15, 18, 20).
#include <algorithm>

#include "engine/holder_impl.hpp"

namespace asrp::engine {
namespace {

session::Backup backup_of(const wire::Message& ns) {
  session::Backup backup;
  backup.tuples = ns.tuples();
  backup.cookie = ns.cookie;  // spec: 4.3.2-4
  backup.node_local_ip = ns.node_local_ip;
  backup.data_size = static_cast<std::uint8_t>(ns.session_data.size());  // accepts() has checked it
  std::copy(ns.session_data.begin(), ns.session_data.end(), backup.data.begin());
  return backup;
}

LocalState conflict_state(const Book& book, std::uint32_t slot) {
  for (const Book::KnownState& known : book.conflict_states) {
    if (known.slot == slot) return known.state;
  }
  return LocalState::opening;  // stored in this burst: its packet is about to reach the stack
}

}  // namespace

// Asks ahead, in one call for the whole burst, for the sessions that stand in the way of its NS.
void HolderEngine::Impl::want_conflict_looks() {
  for (std::uint32_t place = 0; place < inputs.size(); ++place) {
    const HolderInput& input = inputs[place];
    if (input.kind != Kind::store) continue;
    if (input.message.protocol != Protocol::tcp && input.book->role == Role::psv) continue;
    want_conflict_look(*input.book, input.message.st1, input.message.tuples());
    want_conflict_look(*input.book, input.message.st2, input.message.tuples());
    if (input.book->role == Role::psv) want_taken_look(place);
  }
}

/// With full NAT the server-side tuple may be that of another client's session which has no backup, made while this holder was
/// away or the store was full. No NS conflicts with that one, but the host would take the SYN for a segment of it, and so all
/// its repetitions. Only of a SYN with its NS inside it is known that it has not reached the host before its NS reached us.
void HolderEngine::Impl::want_taken_look(std::uint32_t place) {
  const HolderInput& input = inputs[place];
  const wire::Message& ns = input.message;
  if (!input.has_packet || !input.view->is_tcp_syn() || ns.st1.src == ns.st2.src) return;
  if (input.book->table.find(ns.st2) != session::kNoSlot) return;
  looks.push_back({input.book, place, Why::taken});
  look_tuples.push_back(ns.st2);
}

void HolderEngine::Impl::want_conflict_look(Book& book, const Tuple& tuple, const TuplePair& wanted) {
  const std::uint32_t slot = book.table.find(tuple);
  if (slot == session::kNoSlot) return;
  const auto older = book.table.read(slot);
  if (!older || older->tuples == wanted) return;
  looks.push_back({&book, slot, Why::conflict});
  look_tuples.push_back(book.inbound(older->tuples));
}

// spec: 4.3.3-1 (client side first)
void HolderEngine::Impl::take_backup(TimePoint now, HolderInput& input) {
  const wire::Message& ns = input.message;
  bool replaces = false;
  for (const std::uint8_t side_flag : {wire::kFlagCc, std::uint8_t{0}}) {
    const std::uint32_t slot = input.book->table.find(side_flag != 0 ? ns.st1 : ns.st2);
    if (slot == session::kNoSlot) continue;
    const auto older = input.book->table.read(slot);
    if (!older) continue;
    if (older->tuples == ns.tuples()) return refresh(now, input, slot);
    if (!give_way(now, input, slot, older->tuples, side_flag)) return;
    replaces = true;
  }
  if (input.is_taken) return refuse_taken(now, input);
  store(now, input, replaces);
}

void HolderEngine::Impl::refuse_taken(TimePoint now, HolderInput& input) {
  const wire::Message& ns = input.message;
  count(HolderCounter::conflicts_unknown);
  input.outcome = Outcome::conflict;
  // spec: 4.3.3-2 "an existing local session" (4.3.5)
  input.answer = wire::with_tuples(wire::MsgType::NC, ns.tuples(), ns.cookie, ns.session_data);
  events.on_event({.at = now, .kind = EventKind::backup_conflict, .flow = ns.st1, .detail = "session without a backup"});
}

/// True if the older session in `slot` has ended and was released; else the NC is prepared.
bool HolderEngine::Impl::give_way(TimePoint now, HolderInput& input, std::uint32_t slot, const TuplePair& older,
                                  std::uint8_t side_flag) {
  const wire::Message& ns = input.message;
  Book& book = *input.book;
  const bool same_client = older.client_side.src == ns.st1.src;
  bool is_gone = false;
  if (book.role == Role::act) {
    // This host began the session before its NS came: no socket, no session. One that is not answered yet, and has asked again,
    // is now where the last answer says.
    const LocalState state = conflict_state(book, slot);
    is_gone = state == LocalState::none || state == LocalState::time_wait ||
              (state == LocalState::opening && older.client_side == ns.st1);
  } else if (ns.protocol == Protocol::tcp) {
    const LocalState state = conflict_state(book, slot);
    // Without a socket a young one may be in a handshake with SYN cookies. Its own client can't be in two at once.
    if (state == LocalState::none) is_gone = same_client || book.life.life(slot) != session::Life::young;
    if (state == LocalState::time_wait) is_gone = same_client;
  }
  if (is_gone) {
    release(now, book, slot, HolderCounter::released_replaced, "replaced");
    return true;
  }
  count(side_flag != 0 ? HolderCounter::conflicts_client : HolderCounter::conflicts_server);
  input.outcome = Outcome::conflict;
  // spec: 4.3.3-2; F-NA is not among the flags
  input.answer = wire::with_tuples(wire::MsgType::NC, {ns.st1, older.server_side}, ns.cookie, ns.session_data, side_flag);
  events.on_event({.at = now, .kind = EventKind::backup_conflict, .flow = ns.st1, .session = older});
  return false;
}

void HolderEngine::Impl::refresh(TimePoint now, HolderInput& input, std::uint32_t slot) {
  Book& book = *input.book;
  if (!book.table.update(slot, backup_of(input.message))) {
    count(HolderCounter::store_full);
    input.outcome = Outcome::full;
    return;
  }
  count(HolderCounter::backups_refreshed);
  accept_backup(input);
  // Perhaps a new session with the same tuples: of the old one's end we may have yet to hear. For UDP only what ended begins
  // anew, the flow is the same as long as conntrack has it.
  const bool is_tcp = input.message.protocol == Protocol::tcp;
  if (is_tcp || book.life.life(slot) != session::Life::settled) begin_life(now, book, slot, is_tcp);
}

void HolderEngine::Impl::store(TimePoint now, HolderInput& input, bool replaces) {
  Book& book = *input.book;
  const bool has_room = make_room(now, book) && make_embryonic_room(now, book);
  const std::uint32_t slot = has_room ? book.table.add(backup_of(input.message)) : session::kNoSlot;
  if (slot == session::kNoSlot) {
    count(HolderCounter::store_full);
    input.outcome = Outcome::full;
    return;
  }
  count(HolderCounter::backups_stored);
  begin_life(now, book, slot, replaces);
  accept_backup(input);
  events.on_event({.at = now, .kind = EventKind::backup_stored, .session = input.message.tuples()});
}

void HolderEngine::Impl::accept_backup(HolderInput& input) {
  const wire::Message& ns = input.message;
  input.outcome = Outcome::stored;
  if (!ns.has(wire::kFlagNa)) return;
  // spec: 4.3.3-4, 4.3.2-2
  input.answer = wire::with_tuples(wire::MsgType::NA, ns.tuples(), ns.cookie, ns.session_data);
}

/// In a full store a UDP flow that has ended here, and stays only for what a node may still have of it, makes room. Backups of
/// sessions that live never do: the look-up that was made for it finds those that go on.
bool HolderEngine::Impl::make_room(TimePoint now, Book& book) {
  while (book.table.size() >= options.max_backups && !book.giving_way.empty()) {
    const std::uint32_t slot = book.giving_way.back();
    book.giving_way.pop_back();
    if (book.life.life(slot) != session::Life::lingering) continue;  // it has begun anew in this burst
    release(now, book, slot, HolderCounter::released_gave_way, "gave way");
  }
  return book.table.size() < options.max_backups;
}

/// Embryonic backups have a bounded part of the store: the oldest without a session makes room. Those that have one are settled
/// by the look-up that was made for it, and so never evicted.
bool HolderEngine::Impl::make_embryonic_room(TimePoint now, Book& book) {
  while (book.life.embryonic() >= options.max_embryonic && !book.evictable.empty()) {
    const std::uint32_t slot = book.evictable.back();
    book.evictable.pop_back();
    const session::Life state = book.life.life(slot);
    if (state != session::Life::young && state != session::Life::unseen) continue;
    release(now, book, slot, HolderCounter::released_evicted, "evicted");
  }
  return book.life.embryonic() < options.max_embryonic;
}

void HolderEngine::Impl::drop_rolled_back(TimePoint now, Book& book) {
  for (const std::uint32_t slot : book.table.rolled_back()) {
    book.life.remove(slot);
    count(HolderCounter::backups_unsaved);
    events.on_event({.at = now, .kind = EventKind::backup_released, .detail = "commit failed"});
  }
}

}  // namespace asrp::engine
