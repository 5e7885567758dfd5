// SPDX-License-Identifier: BSD-3-Clause
// HS: a client asks for the backup of its session (draft 3.5.4, 4.3.9; decisions 24, 25). It is taken out of the packet whether
// there is a session or not, and so is whatever comes from outside: no message leaves on the far side.
#include "engine/node_impl.hpp"

namespace asrp::engine {

NodeEngine::Impl::Hello NodeEngine::Impl::take_hello(TimePoint now, Incoming& in) {
  Hello hello;
  const auto found = find_message(now, in.view);
  if (!found) return hello;
  const Tuple& tuple = in.view.tuple();
  if (found->message && found->message->type != wire::MsgType::HS) {
    discard(now, Counter::discarded_unexpected, tuple, tuple.src.address);
  } else if (found->message && found->message->protocol != tuple.protocol) {
    discard(now, Counter::discarded_protocol, tuple, tuple.src.address);
  } else if (found->message) {
    hello.cookie = found->message->cookie;
    act_heard(now, tuple.src.address);
  }
  if (found->separate) {
    hello.separate = true;
    count(Counter::packets_consumed);
  } else if (!strip(in, *found)) {
    hello = {true, false, std::nullopt};
    count(Counter::drops_malformed);
  }
  return hello;
}

// spec: 4.3.9-1 an NS for the session, to the source of the packet
void NodeEngine::Impl::answer_hello(TimePoint now, const TuplePair& session, Cookie cookie) {
  if (!clients_->take_hello(now, session.client_side.src.address)) return count(Counter::hellos_limited);
  count(Counter::hellos_answered);
  answered_hellos_.put(hash(session.client_side), now, {pair_tag(session), cookie});
  send_ns(now, session, cookie, false);  // spec: 4.3.2-2 with the cookie of the HS
}

bool NodeEngine::Impl::answer_known(TimePoint now, const Tuple& packet, Cookie cookie) {
  const auto entry = flows_.find(packet);
  if (!entry || entry->tuples.client_side != packet || !config_->may_exist(entry->tuples)) return false;
  answer_hello(now, entry->tuples, cookie);
  return true;
}

void NodeEngine::Impl::act_known_from_client(TimePoint now, Incoming& in) {
  const Tuple tuple = in.view.tuple();
  const Hello hello = take_hello(now, in);
  if (hello.cookie && !answer_known(now, tuple, *hello.cookie)) count(Counter::hellos_no_session);
  pass_known(in, hello.broken || hello.separate);
}

void NodeEngine::Impl::act_known_from_outside(TimePoint now, Incoming& in) {
  const bool passes = strip_unwanted(now, in, Counter::discarded_outside);
  pass_known(in, !passes);
}

void NodeEngine::Impl::pass_known(Incoming& in, bool ends) {
  if (ends) return outbox_.drop(in.id);
  if (!in.edited) return outbox_.accept(in.id);
  const PacketRef ref = ref_of(in);
  outbox_.replace_range(in.id, ref.start, ref.size);
}

/// The client has another session on one of the tuples. The packets of ours have left, and it stays (decision 25).
bool NodeEngine::Impl::on_nc_of_hello(TimePoint now, const Endpoint& from, const wire::Message& message) {
  const AnsweredHello* hello = answered_hellos_.find(hash(message.st1), now, kHelloMemory);
  if (hello == nullptr) return false;
  const auto refuse = [&](Counter reason) {
    discard(now, reason, message.st1, from.address);
    return true;
  };
  if (message.st1.src.address != from.address) return refuse(Counter::discarded_address);
  if (message.cookie != hello->cookie) return refuse(Counter::discarded_cookie);
  if (!message.has(wire::kFlagCc) && pair_tag(message.tuples()) != hello->pair) return refuse(Counter::discarded_tuple);
  act_heard(now, from.address);
  count(Counter::conflicts_kept);
  return true;
}

}  // namespace asrp::engine
