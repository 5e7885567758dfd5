// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to ASRP-PORT: RS and RX are matched with what was asked, NA and NC go to their procedures.
#include <algorithm>

#include "asrp/wire/decode.hpp"
#include "engine/node_impl.hpp"
#include "engine/node_send.hpp"

namespace asrp::engine {

using session::Answer;
using session::kNoSlot;
using session::Recovery;

void NodeEngine::Impl::discard(TimePoint now, Counter reason, const Tuple& flow, const IpAddress& peer) {
  count(reason);
  event(now, EventKind::message_discarded, flow, {}, peer, info(reason).name);
}

void NodeEngine::Impl::count_received(TimePoint now, const wire::Message& message, packet::Carriage carriage,
                                      const IpAddress& peer) {
  static constexpr Counter kReceived[] = {Counter::received_ns, Counter::received_na, Counter::received_qs,
                                          Counter::received_rs, Counter::received_rx, Counter::received_hs,
                                          Counter::received_ps, Counter::received_nc};
  count(kReceived[static_cast<std::size_t>(message.type)]);
  event(now, EventKind::message_received, message.st1, message.tuples(), peer, message_detail(message.type, carriage));
}

void NodeEngine::Impl::on_message(TimePoint now, const Endpoint& from, const IpAddress& to, Octets octets) {
  if (!config_->is_local(to)) return discard(now, Counter::discarded_not_local, {}, from.address);
  const auto decoded = wire::decode(octets);
  if (!decoded) return discard(now, decode_reason(decoded.error()), {}, from.address);
  const wire::Message& message = decoded->message;
  count_received(now, message, packet::Carriage::standalone, from.address);
  switch (message.type) {
    case wire::MsgType::RS:
    case wire::MsgType::RX:
      return on_answer(now, from, message);
    case wire::MsgType::NA:
      return on_na(now, from, message);
    case wire::MsgType::NC:
      return on_nc(now, from, message);
    default:
      return discard(now, Counter::discarded_unexpected, message.st1, from.address);
  }
}

/// spec: 4.1-3 random, but for the bits that lead the answer back to this engine
Cookie NodeEngine::Impl::query_cookie(std::uint32_t random) const {
  const NodeOptions& options = config_->options();
  if (options.query_bits == 0) return Cookie{random};
  return Cookie{options.query_number << (32 - options.query_bits) | random >> options.query_bits};
}

bool NodeEngine::Impl::expects(Octets message) const {
  const auto decoded = wire::decode(message);
  return decoded && (find_attempt(decoded->message.st1) != kNoSlot || find_waiting(decoded->message.st1) != kNoSlot ||
                     answered_hellos_.find(hash(decoded->message.st1), TimePoint{}, kHelloMemory) != nullptr);  // of any age
}

/// The recovery that an answer is for. An RS names both tuples, and each may be under recovery: the cookie tells which one
/// asked.
std::uint32_t NodeEngine::Impl::recovery_of(const IpAddress& from, const wire::Message& message) const {
  const std::uint32_t first = find_recovery(message.st1);
  const std::uint32_t second = message.type == wire::MsgType::RS ? find_recovery(message.st2) : kNoSlot;
  if (first == kNoSlot || second == kNoSlot) return first != kNoSlot ? first : second;
  const Recovery& recovery = recoveries_[second];
  const auto begin = recovery.candidates.begin();
  const bool asked_by_second =
      std::any_of(begin, begin + static_cast<std::ptrdiff_t>(recovery.asked),
                  [&](const session::Candidate& c) { return c.address == from && c.cookie == message.cookie; });
  return asked_by_second ? second : first;
}

// spec: 4.3.2-3 an answer must match the outstanding request that it is applied to
void NodeEngine::Impl::on_answer(TimePoint now, const Endpoint& from, const wire::Message& message) {
  if (message.type == wire::MsgType::RX && on_probe_answer(now, from, message)) return;
  const std::uint32_t slot = recovery_of(from.address, message);
  if (slot == kNoSlot) return discard(now, Counter::discarded_unmatched, message.st1, from.address);
  Recovery& recovery = recoveries_[slot];
  const auto begin = recovery.candidates.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(recovery.asked);
  const auto candidate = std::find_if(begin, end, [&](const session::Candidate& c) { return c.address == from.address; });
  if (candidate == end) return discard(now, Counter::discarded_address, message.st1, from.address);
  if (candidate->cookie != message.cookie) return discard(now, Counter::discarded_cookie, message.st1, from.address);
  // spec: 4.3.7-1 RS and RX reuse the header of the QS
  if (candidate->source_port != from.port) return discard(now, Counter::discarded_port, message.st1, from.address);
  if (recovery.trigger.protocol != message.protocol) {
    return discard(now, Counter::discarded_protocol, message.st1, from.address);
  }
  holder_answered(now, from.address);
  if (candidate->answer != Answer::silent) return discard(now, Counter::discarded_repeated, message.st1, from.address);
  if (message.type == wire::MsgType::RX) {
    candidate->answer = Answer::no_session;
  } else {
    on_recovered(now, slot, static_cast<std::size_t>(candidate - begin), message);
  }
  evaluate(now, slot);
}

/// An RS that matches a request. What fails here counts as RX of that candidate (decision 12).
void NodeEngine::Impl::on_recovered(TimePoint now, std::uint32_t slot, std::size_t candidate, const wire::Message& message) {
  Recovery& recovery = recoveries_[slot];
  const IpAddress& peer = recovery.candidates[candidate].address;
  recovery.candidates[candidate].answer = Answer::no_session;
  if (!answers(recovery, message.tuples())) return discard(now, Counter::discarded_tuple, message.st1, peer);
  // spec: 5-1 5-2 5-3 discarded, and no session made
  if (!config_->may_exist(message.tuples())) {
    return discard(now, Counter::discarded_illegitimate, message.st1, peer);
  }
  // A holder speaks of its own host's sessions alone.
  if (config_->holder_of(message.tuples()) != peer) return discard(now, Counter::discarded_elsewhere, message.st1, peer);
  recovery.candidates[candidate].answer = Answer::session;
  if (recovery.found_by == Recovery::kNobody) recovery.grace_until = now + config_->options().timing.silence_grace;
  if (recovery.found_by != Recovery::kNobody && recovery.found_by < candidate) {
    if (recovery.found != message.tuples()) discard(now, Counter::discarded_disagree, message.st1, peer);
    return;
  }
  recovery.found = message.tuples();
  recovery.found_by = candidate;
}

}  // namespace asrp::engine
