// SPDX-License-Identifier: BSD-3-Clause
// Rules about the tuples in a message: those of the packet that carries it, and those that the session began with.
#include <algorithm>

#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using wire::MsgType;

TuplePair exchanged(const TuplePair& pair) { return {pair.server_side, pair.client_side}; }

std::string carried_by(const Case& c) { return name_of(c.message()) + " is carried by " + flow_text(c.heard.seen.tuple); }

// An NS goes to the server in a packet of ST2 (PSV), or to the client in one of ST1 (ACT).
void ns_carrier(const Case& c) {
  const Tuple& carrier = c.heard.seen.tuple;
  const wire::Message& message = c.message();
  if (carrier == message.st2 || carrier == message.st1.reversed()) return;
  const bool sides = carrier == message.st1 || carrier == message.st2.reversed();
  c.find(rule::kNsCarrier, Certainty::certain, {c.at().number},
         carried_by(c) + (sides ? ": its tuples are exchanged" : ", which is neither its ST2 nor its reversed ST1"));
}

// A PS comes from the server, in a packet of the reversed ST2. On the client's side it has not been taken out.
void ps_carrier(const Case& c) {
  const Tuple& carrier = c.heard.seen.tuple;
  const wire::Message& message = c.message();
  if (carrier == message.st2.reversed()) return;
  if (carrier == message.st1.reversed()) {
    // The session tells which of both it is: a PS with its sides exchanged, or one that a node let pass.
    const bool sides = c.heard.session != nullptr && c.heard.session->tuples == exchanged(message.tuples());
    if (!sides) {
      if (!c.heard.seen.is_tcp()) return;  // who receives UDP reads the option and need not take it out
      c.find(rule::kNotRemoved, Certainty::certain, {c.at().number}, name_of(c.message()) + " was not removed by the node");
      return;
    }
  }
  c.find(rule::kPsCarrier, Certainty::certain, {c.at().number}, carried_by(c) + ", which is not its reversed ST2");
}

void hs_removed(const Case& c) {
  const Session* session = c.heard.session;
  if (session == nullptr || !c.heard.seen.is_tcp() || c.heard.side != Side::server ||
      session->tuples.client_side == session->tuples.server_side)
    return;
  c.find(rule::kNotRemoved, Certainty::certain, {c.at().number}, name_of(c.message()) + " was not removed by the node");
}

// The backup is a copy of what the NS said.
void same_as_backup(const Case& c) {
  const wire::Message& message = c.message();
  if (c.heard.copy || c.history.ns.empty() || c.heard.session == nullptr) return;
  const SentNs& last = c.history.ns.back();
  if (message.tuples() == last.tuples) return;
  // An answer for what wasn't asked for is another rule's.
  if (c.heard.fit == Fit::whole && !same_flow(message.st1, c.heard.asked->tuple) &&
      !same_flow(message.st2, c.heard.asked->tuple))
    return;
  const auto known = [&](const SentNs& ns) { return ns.tuples == message.tuples(); };
  if (std::any_of(c.history.ns.begin(), c.history.ns.end(), known)) return;
  const bool sides = exchanged(message.tuples()) == last.tuples && message.st1 != message.st2;
  const bool same_ns = message.cookie.value != 0 && message.cookie == last.cookie && answers_only_ns(c);
  c.find(rule::kBackupTuples, sides || same_ns ? Certainty::certain : Certainty::possible, {last.at.number, c.at().number},
         name_of(message) + " and st2 " + flow_text(message.st2) + (sides ? " has exchanged tuples" : " is another session") +
             ": its NS said " + flow_text(last.tuples.client_side) + " and " + flow_text(last.tuples.server_side));
}

// PS belongs to PSV mode, HS and an NS to the client to ACT mode.
void one_mode(const Case& c) {
  History& history = c.history;
  const wire::Message& message = c.message();
  if (c.heard.is(MsgType::PS) && history.act && !history.psv) {
    c.find(rule::kMode, Certainty::certain, {c.at().number}, name_of(message) + " in a session of ACT mode");
  }
  if (!c.heard.is(MsgType::NS)) return;
  const Tuple& carrier = c.heard.seen.tuple;
  const bool standalone = c.heard.carriage == Carriage::standalone;
  const bool to_client = goes_to_client(c);
  const bool to_server = standalone ? carrier.dst.address == message.st2.dst.address : carrier == message.st2;
  if (to_client == to_server) return;
  if ((to_client && history.psv) || (to_server && history.act)) {
    c.find(rule::kMode, Certainty::certain, {c.at().number}, name_of(message) + " goes to the other end than those before");
  }
  history.act |= to_client;
  history.psv |= to_server;
}

}  // namespace

void check_tuples(const Case& c) {
  if (c.heard.message == nullptr) return;
  const bool in_flow = c.heard.carriage != Carriage::standalone;
  switch (c.message().type) {
    case MsgType::NS:
      if (in_flow && !c.heard.copy) ns_carrier(c);
      if (!c.heard.copy) one_mode(c);
      break;
    case MsgType::PS:
      if (in_flow && !c.heard.copy) ps_carrier(c);
      same_as_backup(c);
      if (!c.heard.copy) one_mode(c);
      break;
    case MsgType::RS:
      same_as_backup(c);
      break;
    case MsgType::HS:
      if (in_flow && !c.heard.copy) hs_removed(c);
      break;
    default:
      break;
  }
}

}  // namespace asrp::dump
