// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/holder_engine.hpp"

#include <algorithm>
#include <utility>

#include "asrp/packet/surgery.hpp"
#include "engine/holder_impl.hpp"

namespace asrp::engine {

HolderEngine::Impl::Impl(HolderOptions o, session::RecordStore& store, LocalSessions& local, Paths& p, RandomSource& r,
                         EventSink& sink, session::RecordStore* act_store)
    : sessions(local), paths(p), events(sink), randomness(r), hellos(r.u64()), hello_rate(o.act.hello_rate) {
  books.emplace_back(Role::psv, store, randomness.u64());
  if (act_store != nullptr) books.emplace_back(Role::act, *act_store, randomness.u64());
  use_options(std::move(o));
}

void HolderEngine::Impl::use_options(HolderOptions o) {
  if (o.act.hello_rate != options.act.hello_rate) hello_rate = policy::RateLimiter(o.act.hello_rate);
  options = std::move(o);
  local_ips = options.local_ips.empty() ? host_ips : options.local_ips;
  std::sort(local_ips.begin(), local_ips.end());
}

bool HolderEngine::Impl::is_local(const IpAddress& address) const {
  return std::binary_search(local_ips.begin(), local_ips.end(), address);
}

// The order of a burst: what ended is released first, so that it is in nobody's way; then NS are stored; then all of it is
// committed; only then does anything leave (decision 15).
void HolderEngine::Impl::flush(TimePoint now) {
  if (ready) maintain(now);
  for (HolderInput& input : inputs) {
    if (input.data_is_held) {
      input.message.session_data = Octets(held_octets).subspan(input.held_offset, input.message.session_data.size());
    }
    if (input.kind == Kind::store) take_backup(now, input);
  }
  for (Book& book : books) commit(now, book);
  for (HolderInput& input : inputs) deliver(now, input);
  inputs.clear();
  held_octets.clear();
}

void HolderEngine::Impl::commit(TimePoint now, Book& book) {
  book.stores = 0;
  if (book.table.commit()) return;
  count(HolderCounter::store_commit_failed);
  drop_rolled_back(now, book);
  for (HolderInput& input : inputs) {
    if (input.book != &book) continue;
    input.answer.reset();  // an NC may have named a backup that is gone again
    if (input.outcome == Outcome::stored) input.outcome = Outcome::full;
  }
}

void HolderEngine::Impl::deliver(TimePoint now, HolderInput& input) {
  switch (input.kind) {
    case Kind::pass:
      outbox.accept(input.id);
      return;
    case Kind::drop:
      outbox.drop(input.id);
      return;
    case Kind::strip:
      deliver_without_message(input);
      return;
    case Kind::push:
      return is_client_packet(*input.view) ? greet(now, input) : push(now, input);
    case Kind::query:
      answer_query(now, input);
      return;
    case Kind::store:
      break;
  }
  if (input.outcome == Outcome::full) {
    count(HolderCounter::discarded_full);
    events.on_event({.at = now, .kind = EventKind::limit_reached, .session = input.message.tuples(), .detail = "store full"});
  }
  if (input.has_packet) {
    const bool dropped_full = input.outcome == Outcome::full && options.on_full == OnFull::drop && !input.is_separate;
    if (input.outcome == Outcome::conflict || dropped_full) {
      count(dropped_full ? HolderCounter::packets_dropped_full : HolderCounter::packets_dropped_conflict);
      outbox.drop(input.id);
    } else {
      if (input.outcome == Outcome::full && !input.is_separate) count(HolderCounter::packets_unprotected);
      deliver_without_message(input);  // spec: 4.3.3-3
    }
  }
  if (input.answer) send_answer(now, input);
  if (input.outcome == Outcome::stored && input.book->role == Role::act) settle_hello(now, input.message.st1);
}

void HolderEngine::Impl::deliver_without_message(const HolderInput& input) {
  if (input.is_separate) {
    count(HolderCounter::packets_consumed);
    outbox.drop(input.id);
    return;
  }
  const std::size_t start = outbox.mark_start();
  packet::strip(*input.view, input.located, input.message_size, outbox.octets());
  count(HolderCounter::packets_stripped);
  outbox.replace(input.id, start);
}

std::optional<TimePoint> HolderEngine::Impl::next_timeout() const {
  if (!ready) return std::nullopt;
  std::optional<TimePoint> next = hellos.next_due();
  const auto earlier = [&](std::optional<TimePoint> t) {
    if (t) next = next ? std::min(*next, *t) : *t;
  };
  for (const Book& book : books) {
    if (!book.noticed.empty()) return last_input;
    earlier(book.life.next_due());
    earlier(book.reconcile_at ? book.reconcile_slice : book.reconcile_wanted);
  }
  return next;
}

// --- the facade ----------------------------------------------------------------------------------------------------------

HolderEngine::HolderEngine(HolderOptions options, session::RecordStore& store, LocalSessions& sessions, Paths& paths,
                           RandomSource& random, EventSink& events, session::RecordStore* act_store)
    : impl_(std::make_unique<Impl>(std::move(options), store, sessions, paths, random, events, act_store)) {}

HolderEngine::~HolderEngine() = default;

bool HolderEngine::load(TimePoint now) {
  impl_->last_input = now;
  impl_->load(now);
  return impl_->ready;
}

void HolderEngine::on_packet(TimePoint now, PacketId id, Direction direction, Octets packet) {
  impl_->last_input = now;
  HolderInput& input = impl_->inputs.emplace_back();
  input.id = id;
  input.has_packet = true;
  if (direction == Direction::inbound) {
    impl_->count(HolderCounter::packets_inbound);
    impl_->read_inbound(now, input, packet);
    if (input.kind == HolderInput::Kind::store) ++input.book->stores;
    return;
  }
  impl_->count(HolderCounter::packets_outbound);
  const auto view = packet::PacketView::parse(packet);
  if (!view) {
    impl_->count(HolderCounter::packets_unreadable);
    return;  // kind `pass`: the host's own packets are none of our business
  }
  input.view = *view;
  if (impl_->ready && (view->is_tcp() || view->is_udp())) input.kind = HolderInput::Kind::push;
}

void HolderEngine::on_message(TimePoint now, const Endpoint& from, const Endpoint& to, Octets message) {
  impl_->last_input = now;
  impl_->count(HolderCounter::messages_standalone);
  impl_->read_standalone(now, from, to, message);
}

void HolderEngine::on_session_end(TimePoint now, const Tuple& session) {
  impl_->last_input = now;
  impl_->on_session_end(now, session);
}

void HolderEngine::on_notices_lost(TimePoint now) {
  impl_->last_input = now;
  impl_->count(HolderCounter::notices_lost);
  if (!impl_->ready) return;
  for (Book& book : impl_->books) book.reconcile_wanted = now;
}

void HolderEngine::on_timeout(TimePoint now) {
  impl_->last_input = now;
  if (impl_->ready) impl_->maintain(now);
}

void HolderEngine::reconfigure(TimePoint now, HolderOptions options) {
  impl_->last_input = now;
  impl_->use_options(std::move(options));
}

void HolderEngine::on_local_addresses(std::span<const IpAddress> addresses) {
  impl_->host_ips.assign(addresses.begin(), addresses.end());
  if (!impl_->options.local_ips.empty()) return;
  impl_->local_ips = impl_->host_ips;
  std::sort(impl_->local_ips.begin(), impl_->local_ips.end());
}

void HolderEngine::flush(TimePoint now) {
  impl_->last_input = now;
  impl_->flush(now);
}

bool HolderEngine::take_sweep(TimePoint now) { return impl_->take_sweep(now); }
bool HolderEngine::may_ask(const Tuple& flow) { return impl_->may_ask(flow); }
Outbox& HolderEngine::outbox() { return impl_->outbox; }
std::optional<TimePoint> HolderEngine::next_timeout() const { return impl_->next_timeout(); }
const Counters<HolderCounter>& HolderEngine::counters() const { return impl_->counters; }
const HolderOptions& HolderEngine::options() const { return impl_->options; }

std::optional<session::Backup> HolderEngine::backup(Role role, std::uint32_t number) const {
  for (Book& book : impl_->books) {
    if (book.role == role && book.table.in_use(number)) return book.table.read(number);
  }
  return std::nullopt;
}

std::uint32_t HolderEngine::backup_limit(Role role) const {
  for (const Book& book : impl_->books) {
    if (book.role == role) return book.table.slot_limit();
  }
  return 0;
}

HolderEngine::Gauges HolderEngine::gauges() const {
  Gauges out{};
  for (const Book& book : impl_->books) {
    out.backups += book.table.size();
    out.embryonic += book.life.embryonic();
    out.index_octets += book.table.octets() + book.life.octets();
    if (book.role == Role::act) out.act_backups = book.table.size();
  }
  const RouteEvidence::Totals routes = impl_->evidence.totals();
  out.hellos = impl_->hellos.size();
  out.routes_unknown = routes.unknown;
  out.routes_absent = routes.absent;
  out.routes_proven = routes.proven;
  return out;
}

}  // namespace asrp::engine
