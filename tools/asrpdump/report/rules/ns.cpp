// SPDX-License-Identifier: BSD-3-Clause
// Rules about NS and what answers it: NA and NC.
#include <algorithm>

#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using wire::MsgType;

constexpr std::int64_t kCrossing = 100'000'000;  // nanoseconds: an NS so soon after NA was under way, or a SYN's
constexpr std::uint32_t kFlowing = 3;            // packets after which an NS should have come again

// A session that is created, or created again, by an explicit first packet: its NS needs no NA, and an older one doesn't count.
bool creates(const Case& c) {
  const bool explicit_first = c.heard.carriage != Carriage::standalone && !c.message().has(wire::kFlagNa);
  return c.heard.in_syn() || explicit_first || c.at().time - c.history.syn < 2 * kCrossing || c.heard.remapped;
}

void no_ns_after_na(const Case& c) {
  History& history = c.history;
  const wire::Message& message = c.message();
  if (creates(c)) {
    history.na.reset();
    return;
  }
  const bool answers_hello = has_hello(history, message.cookie);
  if (!history.na || history.na_node != message.node_local_ip || answers_hello) return;
  if (c.at().time - history.na->time < kCrossing) return;
  if (history.told_after_na) return;
  history.told_after_na = true;
  // NA may be lost behind the capture, or the NS begin a session whose first packet the capture hasn't.
  c.find(rule::kNsAfterNa, Certainty::possible, {history.na->number, c.at().number},
         name_of(message) + " was sent after NA, unless that was lost on its way");
}

void remember(const Case& c) {
  History& history = c.history;
  const wire::Message& message = c.message();
  SentNs sent{c.at(), message.cookie, message.node_local_ip, message.tuples(), data_digest(message), message.has(wire::kFlagNa),
              false,  false,          c.heard.in_syn()};
  if (history.ns.size() == History::kMostNs) history.ns.erase(history.ns.begin());
  history.ns.push_back(sent);
  ++history.ns_in_all;
  history.packets_since_ns = 0;
  auto& latest = c.memory.latest_ns;
  if (latest.size() < Memory::kMostNs) {
    latest.push_back(sent);
  } else {
    latest[c.memory.next_ns] = sent;
    c.memory.next_ns = (c.memory.next_ns + 1) % Memory::kMostNs;
  }
}

// Its answer may have had other tuples, and so another session.
bool is_answered(const SentNs& ns, const Memory& memory) {
  const auto is_it = [&](const SentNs& latest) { return latest.at.number == ns.at.number && latest.answered; };
  return ns.answered || std::any_of(memory.latest_ns.begin(), memory.latest_ns.end(), is_it);
}

std::string answers(const Case& c, const SentNs& ns) {
  return name_of(c.message()) + " answers NS " + hex8(ns.cookie.value) + " of " + ns.node.to_string();
}

// True if an answer that differs can't be that to another NS of the session: the node that the NS came from had one trigger.
bool is_sole(const Case& c, const SentNs& ns) { return c.heard.seen.tuple.dst.address == ns.node && has_one_trigger(c); }

// The session is looked up by ST1: an answer with another one is found by cookie and node.
SentNs* ns_of_other_tuples(const Case& c) {
  for (SentNs& ns : c.memory.latest_ns) {
    const bool fresh = c.at().time - ns.at.time < kFresh;
    if (fresh && ns.cookie.value != 0 && ns.cookie == c.message().cookie && ns.node == c.heard.seen.tuple.dst.address)
      return &ns;
  }
  return nullptr;
}

void destination(const Case& c, const SentNs& ns) {
  const Rule& rule = c.heard.is(MsgType::NC) ? rule::kConflictDestination : rule::kAckDestination;
  const Endpoint& to = c.heard.seen.tuple.dst;
  if (c.heard.carriage != Carriage::standalone) return;  // another rule's
  if (to.port != c.memory.port) {
    // Between two other ports it may be another cluster's, with another ASRP-PORT.
    const bool from_port = c.heard.seen.tuple.src.port == c.memory.port;
    c.find(rule, from_port ? Certainty::certain : Certainty::possible, {ns.at.number, c.at().number},
           answers(c, ns) + " at port " + std::to_string(to.port));
  }
  if (to.address == ns.node) return;
  const auto same_node = [&](const SentNs& other) { return other.node == to.address && other.cookie == c.message().cookie; };
  if (std::any_of(c.history.ns.begin(), c.history.ns.end(), same_node)) return;
  // All nodes may derive one cookie from a session, and the NS of the other one be missing.
  c.find(rule, Certainty::possible, {ns.at.number, c.at().number}, answers(c, ns) + " but goes to " + to.address.to_string());
}

void tuples(const Case& c, const SentNs& ns, bool certain) {
  const wire::Message& message = c.message();
  const bool conflict = c.heard.is(MsgType::NC);  // its ST2 may be the conflicting session's
  if (message.tuples() == ns.tuples || (conflict && message.st1 == ns.tuples.client_side)) return;
  const auto known = [&](const SentNs& other) { return other.tuples == message.tuples() && other.cookie == message.cookie; };
  if (std::any_of(c.history.ns.begin(), c.history.ns.end(), known)) return;
  const bool sides = message.st1 == ns.tuples.server_side && message.st2 == ns.tuples.client_side;
  c.find(rule::kAckTuples, certain || sides ? Certainty::certain : Certainty::possible, {ns.at.number, c.at().number},
         answers(c, ns) + (sides ? " with exchanged tuples"
                                 : " with other tuples: " + flow_text(message.st1) + " and " + flow_text(message.st2)));
}

// The NS with this cookie may differ in what they bring.
void data(const Case& c, const SentNs& ns, bool certain) {
  const std::uint64_t have = data_digest(c.message());
  if (c.heard.is(MsgType::NC) || have == ns.session_data) return;
  const auto same = [&](const SentNs& other) { return other.cookie == c.message().cookie && other.session_data == have; };
  if (std::any_of(c.history.ns.begin(), c.history.ns.end(), same)) return;
  c.find(rule::kSessionData, certain ? Certainty::certain : Certainty::possible, {ns.at.number, c.at().number},
         name_of(c.message()) + " has other Session-Data than its NS");
}

void answered(const Case& c) {
  History& history = c.history;
  SentNs* only = only_fresh(history, c.at().time);
  SentNs* own = ns_with(history, c.message().cookie);
  SentNs* ns = own != nullptr ? own : ns_of_other_tuples(c);
  if (ns != nullptr) {
    // A cookie of zero says that its sender uses none: the answer may be another NS's.
    const bool certain = c.message().cookie.value != 0 && own != nullptr && own == only && is_sole(c, *own);
    destination(c, *ns);
    tuples(c, *ns, certain);
    data(c, *ns, false);  // that NA returns them is a protocol note
    ns->answered = true;
    ns->refused |= c.heard.is(MsgType::NC);
    if (own == nullptr) return;  // an NS for what is another session by now, or for none
  } else if (history.ns.empty()) {
    c.find(rule::kAckUnasked, Certainty::possible, {c.at().number},
           name_of(c.message()) + " answers an NS that is not in the capture");
  } else {
    const SentNs& last = only != nullptr ? *only : history.ns.back();
    // Other tuples: of an NS with another mapping, perhaps.
    const bool certain = only != nullptr && only->tuples == c.message().tuples() && is_sole(c, *only);
    c.find(rule::kAckCookie, certain ? Certainty::certain : Certainty::possible, {last.at.number, c.at().number},
           answers(c, last) + " with another cookie");
  }
  // Each repetition has its own answer, or this one: what was sent before is no longer open.
  for (SentNs& sent : history.ns) sent.answered = true;
  if (!c.heard.is(MsgType::NA)) return;
  history.na = c.at();
  history.na_node = c.heard.seen.tuple.dst.address;
  history.told_after_na = false;
}

// PS and RS give back what the NS brought.
void data_kept(const Case& c) {
  if (c.history.ns.empty()) return;
  const bool push = c.heard.is(MsgType::PS);
  SentNs* ns = push ? ns_with(c.history, c.message().cookie) : &c.history.ns.back();
  if (ns == nullptr || ns->tuples != c.message().tuples()) return;
  const auto same = [&](const SentNs& other) { return other.session_data == data_digest(c.message()); };
  if (std::any_of(c.history.ns.begin(), c.history.ns.end(), same)) return;
  data(c, *ns, answers_only_ns(c));
}

void repeated(const Case& c) {
  History& history = c.history;
  if (history.ns.empty() || history.told_not_repeated || history.na) return;
  const SentNs& last = history.ns.back();
  const bool open = last.wants_ack && !is_answered(last, c.memory) && c.heard.side == Side::server && c.heard.to_server;
  if (!open || c.at().time - last.at.time < kFresh || (c.heard.seen.tcp_flags & (packet::kTcpFin | packet::kTcpRst)) != 0)
    return;
  if (++history.packets_since_ns < kFlowing) return;
  history.told_not_repeated = true;
  c.find(rule::kNsNotRepeated, Certainty::possible, {last.at.number, c.at().number},
         "NS " + hex8(last.cookie.value) + " for " + last.tuples.client_side.to_string() +
             " has no NA, the session goes on, and no NS comes again");
}

}  // namespace

void check_ns(const Case& c) {
  History& history = c.history;
  if (c.heard.message == nullptr || c.heard.is_flow()) {
    if (c.heard.seen.is_syn()) history.syn = c.at().time;
    if (c.heard.message == nullptr) return repeated(c);
  }
  switch (c.message().type) {
    case MsgType::NS:
      no_ns_after_na(c);
      remember(c);
      break;
    case MsgType::NA:
    case MsgType::NC:
      answered(c);
      break;
    case MsgType::RS:
    case MsgType::PS:
      data_kept(c);
      break;
    case MsgType::RX:
      history.ps.reset();
      history.na.reset();  // the holder has no backup any more: an NS may make a new one
      break;
    default:
      break;
  }
}

void check_ns_at_end(const Session& session, const History& history, const Memory& memory, std::int64_t now,
                     const FindingSink& sink) {
  const SentNs* first = nullptr;
  const SentNs* last = nullptr;
  for (const SentNs& ns : history.ns) {
    if (!ns.wants_ack || is_answered(ns, memory)) continue;
    if (first == nullptr) first = &ns;
    last = &ns;
  }
  if (first == nullptr || now - last->at.time < kFresh) return;
  sink({&rule::kAckMissing, Certainty::possible,
        first == last ? std::vector{first->at.number} : std::vector{first->at.number, last->at.number},
        "NS " + hex8(last->cookie.value) + " for " + session.tuples.client_side.to_string() +
            " asks for NA and was not answered",
        last->at.time});
}

}  // namespace asrp::dump
