// SPDX-License-Identifier: BSD-3-Clause
// Follower: messages, and which session and query they belong to.
#include <algorithm>

#include "report/follow.hpp"

namespace asrp::dump {
namespace {

using wire::MsgType;

constexpr std::int64_t kOpen = 1'000'000'000;   // nanoseconds that a query waits for its answer
constexpr std::int64_t kLate = 60'000'000'000;  // the same if the answer's cookie says that it is the query's
constexpr std::size_t kMaxProbes = 1024;        // of the latest, to find what their RX answer

bool is_zero(const Tuple& tuple) {
  return tuple.src.address.is_unspecified() && tuple.dst.address.is_unspecified() && tuple.src.port == 0 && tuple.dst.port == 0;
}

bool names(const wire::Message& answer, const Tuple& tuple) {
  return same_flow(answer.st1, tuple) || (answer.type == MsgType::RS && same_flow(answer.st2, tuple));
}

}  // namespace

Tuple answer_header(const Tuple& query) {
  return {{query.dst.address, query.src.port}, {query.src.address, query.dst.port}, query.protocol};
}

// A node need not take the message out of a datagram: then it is seen on both sides. Each is looked up as it is on the
// server's.
bool Follower::passed(const Heard& heard) {
  if (heard.session == nullptr || heard.copy || heard.seen.is_tcp() || heard.carriage == packet::Carriage::standalone)
    return false;
  const TuplePair& pair = heard.session->tuples;
  Seen seen = heard.seen;
  if (pair.client_side == pair.server_side) return false;
  if (seen.tuple == pair.client_side) {
    seen.tuple = pair.server_side;
  } else if (seen.tuple == pair.client_side.reversed()) {
    seen.tuple = pair.server_side.reversed();
  }
  return sides_.is_copy(seen);
}

void Follower::message(Heard& heard) {
  heard.copy = copies_.is_copy(heard.seen);
  switch (heard.message->type) {
    case MsgType::NS:
      heard.session = &new_session(heard);
      break;
    case MsgType::NA:
    case MsgType::NC:
    case MsgType::PS:
      heard.session = &with_pair(heard);
      break;
    case MsgType::QS:
      query(heard);
      break;
    case MsgType::RS:
    case MsgType::RX:
      answer(heard);
      break;
    case MsgType::HS:
      heard.session = find(heard.seen.tuple);
      if (heard.session != nullptr && !heard.session->paired) heard.session = nullptr;
      if (heard.session == nullptr && !heard.copy) recent_.add(heard.seen);
      break;
  }
  if (heard.session == nullptr) {
    listener_.on_heard(heard);
    return;
  }
  heard.passed = passed(heard);
  if (!heard.copy && !heard.passed) ++heard.session->messages[static_cast<std::size_t>(heard.message->type)];
  place(heard);
  if (const auto node = node_named_by(heard)) places_.learn(node_place_of(heard), *node);
  if (!heard.copy && !heard.passed) restore(heard);
  hear(heard);
}

Session& Follower::new_session(Heard& heard) {
  const wire::Message& message = *heard.message;
  Session* session = find(message.st1);
  if (session != nullptr && session->paired) {
    const bool same = session->tuples == message.tuples();
    const bool anew = heard.in_syn() && begins_anew(*session, heard.seen);
    if (!same && session->refused && session->tuples.client_side == message.st1) {
      heard.remapped = true;
      pair_up(*session, message.tuples(), heard.seen.at);
    } else if (!same || anew) {
      if (session->tuples.client_side == message.st1) leave(session->slot);
      session = nullptr;
    }
  } else if (session != nullptr) {
    pair_up(*session, message.tuples(), heard.seen.at);
  }
  if (session == nullptr) {
    session = &create(message.tuples(), true, heard);
    catch_up(*session, heard.seen.at);
  }
  if (!session->created) session->created = heard.seen.at;
  session->refused = false;
  session->node = message.node_local_ip;
  session->cookie = message.cookie;
  return *session;
}

Session& Follower::with_pair(Heard& heard) {
  const wire::Message& message = *heard.message;
  const bool conflict = message.type == MsgType::NC;
  Session* session = find(message.st1);
  if (session == nullptr && !conflict) session = find(message.st2);
  if (session == nullptr) {
    session = &create(message.tuples(), !conflict, heard);
    if (!conflict) catch_up(*session, heard.seen.at);
  } else if (!conflict && (!session->paired || (session->refused && message.type != MsgType::NA))) {
    pair_up(*session, message.tuples(), heard.seen.at);
    session->refused = false;
  }
  if (conflict) refuse(*session, message);
  return *session;
}

// A refused mapping is another session's: it gets its tuple back.
void Follower::refuse(Session& session, const wire::Message& message) {
  session.refused = true;
  if (message.has(wire::kFlagCc) || session.taken_from == kNone || !session.paired) return;
  const std::optional<Session>& owner = slots_[session.taken_from];
  if (owner && owner->id == session.taken_from_id && owner->paired && owner->tuples.server_side == session.tuples.server_side) {
    by_tuple_[normalised(session.tuples.server_side)] = session.taken_from;
  }
  session.taken_from = kNone;
}

void Follower::query(Heard& heard) {
  const wire::Message& message = *heard.message;
  const Tuple& header = heard.seen.tuple;
  heard.probe = is_zero(message.st1);
  if (!heard.probe) {
    heard.session = find(message.st1);
    if (heard.session == nullptr) heard.session = &create({message.st1, message.st1}, false, heard);
  }
  const auto is_it = [&](const Asked& asked) {
    return asked.cookie == message.cookie && asked.node == header.src && asked.holder == header.dst &&
           asked.tuple == message.st1;
  };
  const auto repeat = [&](Asked& asked) {
    heard.again = true;
    if (!heard.copy) ++asked.tries;
    asked.last = heard.seen.at;
    heard.asked = &asked;
  };
  const Asked fresh{message.st1, header.src, header.dst, message.cookie, data_digest(message), heard.seen.at, heard.seen.at,
                    1,           {},         {}};
  if (heard.probe) {
    for (std::size_t i = 0; i < std::min<std::size_t>(probes_.size(), 64); ++i) {
      if (Asked& asked = probes_[probes_.size() - 1 - i]; is_it(asked)) return repeat(asked);
    }
    if (probes_.size() == kMaxProbes) {
      listener_.on_probe_gone(probes_.front());
      probes_.pop_front();
      ++probes_gone_;
    }
    heard.asked = &probes_.emplace_back(fresh);
  } else {
    auto& list = heard.session->asked;
    for (Asked& asked : list) {
      if (is_it(asked)) return repeat(asked);
    }
    if (list.size() == Session::kMaxAsked) {
      list.erase(list.begin());
      ++heard.session->asked_before;
    }
    heard.asked = &list.emplace_back(fresh);
  }
  const std::uint64_t place =
      heard.probe ? probes_gone_ + probes_.size() : heard.session->asked_before + heard.session->asked.size();
  queries_.add(
      {message.cookie, header, heard.probe ? kNone : heard.session->slot, heard.probe ? 0 : heard.session->id, place - 1});
}

Asked* Follower::asked_of(const Queries::Query& query) {
  const auto at = [&](auto& list, std::uint64_t gone) {
    return query.place >= gone && query.place - gone < list.size() ? &list[query.place - gone] : nullptr;
  };
  if (query.session == kNone) return at(probes_, probes_gone_);
  std::optional<Session>& session = slots_[query.session];
  return session && session->id == query.id ? at(session->asked, session->asked_before) : nullptr;
}

// The query that fits best: that has both the header and the cookie of the answer, or one of them. Of several it is the latest.
Asked* Follower::asked_by(const Heard& heard, Session*& session, Fit& fit) {
  const wire::Message& message = *heard.message;
  const Tuple& have = heard.seen.tuple;
  const Tuple asked_as = answer_header(have);  // the query's header, if the answer's is right
  Asked* best = nullptr;
  const auto look = [&](const Queries::Found& found, Fit as, std::int64_t limit, auto fits) {
    for (const Queries::Query* query : found) {
      if (query == nullptr || fit != Fit::none) return;
      Asked* const asked = asked_of(*query);
      if (asked == nullptr || heard.seen.at.time - asked->last.time > limit || !fits(*query, *asked)) continue;
      fit = as;
      best = asked;
      session = query->session == kNone ? nullptr : &*slots_[query->session];
    }
  };
  const auto any = [](const Queries::Query&, const Asked&) { return true; };
  const auto named = [&](const Queries::Query&, const Asked& asked) { return names(message, asked.tuple); };
  const auto open = [&](const Queries::Query&, const Asked& asked) { return !asked.answer && names(message, asked.tuple); };
  // From another server than was asked: the answer to another query of the same recovery, one that the capture missed.
  const auto of_it = [&](const Queries::Query& query, const Asked& asked) {
    const Tuple want = answer_header(query.header);
    const bool of_other = have.src.address != want.src.address && have.src.port == want.src.port && have.dst == want.dst;
    return !of_other && (names(message, asked.tuple) || want.dst.address == have.dst.address);
  };
  const auto of_holder = [&](const Queries::Query& query, const Asked& asked) {
    return query.header.dst.address == have.src.address && of_it(query, asked);
  };
  const Queries::Found both = queries_.with(asked_as, message.cookie);
  look(both, Fit::whole, kLate, named);
  look(both, Fit::whole, kLate, any);
  // A cookie of zero says that its sender uses none; a port alone can be another query's, too.
  if (message.cookie.value != 0) {
    const Queries::Found same = queries_.with(message.cookie);
    look(same, Fit::cookie, kLate, of_holder);
    look(same, Fit::cookie, kLate, of_it);
  }
  look(queries_.with(asked_as), Fit::header, kOpen, open);
  return best;
}

void Follower::answer(Heard& heard) {
  const wire::Message& message = *heard.message;
  heard.asked = asked_by(heard, heard.session, heard.fit);
  heard.probe = heard.asked != nullptr ? heard.session == nullptr : is_zero(message.st1);
  if (heard.asked == nullptr && message.type == MsgType::RX && !heard.probe) {
    heard.session = find(message.st1);
    if (heard.session == nullptr) heard.session = &create({message.st1, message.st1}, false, heard);
  }
  if (message.type == MsgType::RS) {
    if (heard.session == nullptr) {
      heard.session = &with_pair(heard);
      heard.probe = false;
    } else if (names(message, heard.asked->tuple) && (!heard.session->paired || heard.session->refused)) {
      const std::size_t index = static_cast<std::size_t>(heard.asked - heard.session->asked.data());
      pair_up(*heard.session, message.tuples(), heard.seen.at);
      heard.session->refused = false;
      heard.asked = &heard.session->asked[index];
    }
  }
  if (heard.asked == nullptr || heard.copy) return;
  heard.again = heard.asked->answer.has_value();
  if (heard.again) return;
  heard.asked->answer = message.type;
  heard.asked->answered = heard.seen.at;
}

void Follower::restore(Heard& heard) {
  Session& session = *heard.session;
  const bool by_answer = heard.is(MsgType::RS) && !heard.again;
  if (!by_answer && !heard.is(MsgType::PS)) return;
  Restored restored{heard.message->type, {}, heard.seen.at};
  restored.node = by_answer ? heard.seen.tuple.dst.address : places_.node_at(node_place_of(heard));
  if (by_answer) session.node = restored.node;
  ++(by_answer ? session.restored_by_rs : session.restored_by_ps);
  if (session.restored.size() < Session::kMaxRestored) session.restored.push_back(restored);
}

}  // namespace asrp::dump
