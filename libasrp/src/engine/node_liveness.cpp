// SPDX-License-Identifier: BSD-3-Clause
// Is a holder there? Every holder is asked for a session that nobody has; RX means alive (decision 8).
#include "engine/node_liveness.hpp"

#include <algorithm>

#include "asrp/wire/message.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {
namespace {

constexpr int kMoreOftenIfGone = 8;

Tuple all_zero(Family family) { return {{IpAddress::any(family), 0}, {IpAddress::any(family), 0}, Protocol::tcp}; }

bool is_all_zero(const Tuple& t) {
  return t.src.address.is_unspecified() && t.dst.address.is_unspecified() && t.src.port == 0 && t.dst.port == 0;
}

}  // namespace

// spec: 3.4.1-2 where SYN with data are swallowed they are no longer sent
bool InlinePath::admit(TimePoint now) {
  constexpr std::uint32_t kWindow = 64;                             // older evidence fades
  if (state == State::trial && now >= until) *this = InlinePath{};  // the trial's SYN was not repeated
  if (state == State::trial) return false;
  if (state == State::avoided) {
    if (now < until) return false;
    state = State::trial;
    until = now + std::chrono::seconds(4);  // a client repeats its SYN after 1 s, and after 3
    return true;
  }
  if (sent >= kWindow) {
    sent /= 2;
    repeated /= 2;
  }
  ++sent;
  return true;
}

void InlinePath::on_repeated(TimePoint now, Duration retry) {
  if (state == State::avoided) return;
  ++repeated;
  // Plain loss repeats few of many; a path that swallows SYN with data repeats all.
  if (state == State::open && repeated * 2 < sent) return;
  state = State::avoided;
  until = now + retry;
}

void NodeEngine::Impl::list_holders(TimePoint now) {
  for (auto& [address, holder] : holders_.all()) holder.used = false;
  for (ServiceState& service : config_->services()) {
    for (const Backend& b : service.options->backends) {
      if (b.state == BackendState::disabled || b.holder == HolderPresence::no) continue;
      Holder& holder = holders_.all()[b.address.address];
      holder.address = b.address.address;
      holder.used = true;
    }
  }
  std::erase_if(holders_.all(), [](const auto& entry) { return !entry.second.used; });
  spread_probes(now);
}

/// A few new holders are asked at once. Of very many each group has its own moment of the interval, and keeps it.
void NodeEngine::Impl::spread_probes(TimePoint now) {
  constexpr std::size_t kAtOnce = 64;
  const auto is_new = [](const auto& entry) { return entry.second.due == TimePoint{}; };
  const auto all = static_cast<std::size_t>(std::count_if(holders_.all().begin(), holders_.all().end(), is_new));
  const std::size_t groups = (all + kAtOnce - 1) / kAtOnce;
  std::size_t number = 0;
  for (auto& entry : holders_.all()) {
    if (!is_new(entry)) continue;
    Holder& holder = entry.second;
    holder.turn = now + config_->options().timing.probe_interval * (number++ / kAtOnce) / groups;
    schedule_probe(holder, holder.turn);
  }
}

void NodeEngine::Impl::schedule_probe(Holder& holder, TimePoint due) {
  holder.due = std::max(due, TimePoint{} + Duration(1));
  const auto number = static_cast<std::uint32_t>(probes_.size());
  std::uint32_t slot = number;
  if (!free_probes_.empty()) {
    slot = free_probes_.back();
    free_probes_.pop_back();
    probes_[slot] = holder.address;
  } else {
    probes_.push_back(holder.address);
  }
  timers_.add({holder.due, slot, 0, static_cast<std::uint8_t>(TimerKind::probe)});
}

void NodeEngine::Impl::on_probe_due(TimePoint now, std::uint32_t slot, TimePoint due) {
  Holder* holder = holders_.find(probes_[slot]);
  free_probes_.push_back(slot);
  if (holder == nullptr || holder->due != due) return;  // left, or left and came back with a timer of its own
  const NodeTiming& timing = config_->options().timing;
  if (now >= holder->turn) {
    if (holder->outstanding && ++holder->silences >= timing.probe_silences) holder_silent(now, *holder);
    const std::uint64_t random = random_.u64();
    holder->cookie = query_cookie(static_cast<std::uint32_t>(random >> 32));
    holder->source_port = static_cast<std::uint16_t>(1024 + (random & 0xffffffff) % (65536 - 1024));
    holder->outstanding = true;
    holder->repeats = 0;
    holder->asked = now;
    // Not from `now`: after a pause all would keep one moment for ever.
    const Duration interval = holder->gone ? timing.probe_interval / kMoreOftenIfGone : timing.probe_interval;
    do holder->turn += interval;
    while (holder->turn < now + interval / 2);
    send_probe(now, *holder);
  } else if (holder->outstanding && !holder->gone) {
    ++holder->repeats;
    send_probe(now, *holder);
  }
  // A probe is repeated as every QS is: plain loss on the way must not pass for three silences of a holder.
  const bool again = holder->outstanding && !holder->gone && holder->repeats < timing.query_repeats.size();
  const TimePoint repeat = again ? holder->asked + timing.query_repeats[holder->repeats] : holder->turn;
  schedule_probe(*holder, std::min(repeat, holder->turn));
}

void NodeEngine::Impl::send_probe(TimePoint now, const Holder& holder) {
  const IpAddress* local = config_->local_ip(holder.address.family());
  if (local == nullptr) return;
  count(Counter::sent_probes);
  send_message(now, {*local, holder.source_port}, {holder.address, config_->options().port},
               wire::query_session(all_zero(holder.address.family()), holder.cookie));
}

void NodeEngine::Impl::holder_answered(TimePoint now, const IpAddress& address) {
  act_heard(now, address);
  Holder* holder = holders_.find(address);
  if (holder == nullptr) return;
  holder->silences = 0;
  const bool news = holder->gone || !holder->answered;
  holder->gone = false;
  holder->answered = true;
  if (!news) return;
  count(Counter::holders_alive);
  event(now, EventKind::holder_alive, {}, {}, address, {});
}

void NodeEngine::Impl::holder_silent(TimePoint now, Holder& holder) {
  if (holder.gone) return;
  holder.gone = true;
  // Until its return is seen sessions are made without a backup, and with full NAT unchecked: it must be seen soon.
  holder.turn = std::min(holder.turn, now + config_->options().timing.probe_interval / kMoreOftenIfGone);
  if (holder.turn < holder.due) schedule_probe(holder, holder.turn);
  count(Counter::holders_gone);
  event(now, EventKind::holder_gone, {}, {}, holder.address, {});
  // Recoveries that waited for this one alone may know enough now.
  evaluate_all(now);
}

bool NodeEngine::Impl::on_probe_answer(TimePoint now, const Endpoint& from, const wire::Message& message) {
  if (!is_all_zero(message.st1)) return false;
  Holder* holder = holders_.find(from.address);
  if (holder == nullptr || !holder->outstanding) {
    discard(now, Counter::discarded_unmatched, message.st1, from.address);
  } else if (holder->cookie != message.cookie) {
    discard(now, Counter::discarded_cookie, message.st1, from.address);
  } else if (holder->source_port != from.port) {
    discard(now, Counter::discarded_port, message.st1, from.address);
  } else {
    holder->outstanding = false;
    holder_answered(now, from.address);
  }
  return true;
}

/// Anyone can send an error with a server's address; a QS's port and cookie only who saw it go. So what quotes less proves
/// nothing, and the silence that follows will do.
bool NodeEngine::Impl::quotes_our_query(const Unreachable& error) const {
  const auto quoted = wire::decode(error.message);
  if (!quoted || quoted->message.type != wire::MsgType::QS) return false;
  const wire::Message& query = quoted->message;
  if (is_all_zero(query.st1)) {
    const Holder* holder = holders_.find(error.peer);
    return holder != nullptr && holder->asked != TimePoint{} && holder->cookie == query.cookie &&
           holder->source_port == error.source_port;
  }
  const std::uint32_t slot = find_recovery(query.st1);
  if (slot == session::kNoSlot) return false;
  const session::Recovery& recovery = recoveries_[slot];
  const auto begin = recovery.candidates.begin();
  return std::any_of(begin, begin + static_cast<std::ptrdiff_t>(recovery.asked), [&](const session::Candidate& c) {
    return c.address == error.peer && c.cookie == query.cookie && c.source_port == error.source_port;
  });
}

void NodeEngine::Impl::on_port_unreachable(TimePoint now, const Unreachable& error) {
  if (!quotes_our_query(error)) return discard(now, Counter::discarded_unreachable, {}, error.peer);
  if (Holder* holder = holders_.find(error.peer)) return holder_silent(now, *holder);
  if (config_->nat() != nullptr) act_unreachable(now, error.peer);
}

}  // namespace asrp::engine
