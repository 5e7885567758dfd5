// SPDX-License-Identifier: BSD-3-Clause
// Rules about the messages that an endpoint sends with its own packets: PS and HS.
#include <algorithm>

#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using wire::MsgType;

bool is_separate(const Heard& heard) {
  return heard.message != nullptr && (heard.carriage == Carriage::separate_tcp || heard.carriage == Carriage::separate_udp);
}

void push_cookie(const Case& c) {
  History& history = c.history;
  if (history.ns.empty()) return;
  if (ns_with(history, c.message().cookie) != nullptr) {
    history.ps = c.at();
    history.ps_holder = c.heard.seen.tuple.src.address;
    return;
  }
  // One that was refused is no backup; the NS that came after it may be missing.
  const auto last = std::find_if(history.ns.rbegin(), history.ns.rend(), [](const SentNs& ns) { return !ns.refused; });
  if (last == history.ns.rend()) return;
  c.find(rule::kPushCookie,
         answers_only_ns(c) && last->tuples == c.message().tuples() ? Certainty::certain : Certainty::possible,
         {last->at.number, c.at().number},
         name_of(c.message()) + " doesn't echo the cookie of its NS, " + hex8(last->cookie.value));
}

// A separate packet copies the header of the packet that it belongs to: a PS goes before it.
void push_order(const Case& c) {
  const Session* session = c.heard.session;
  if (!is_separate(c.heard) || session == nullptr || !session->waiting || c.heard.side != Side::server || c.heard.to_server)
    return;
  const Seen& seen = c.heard.seen;
  if (seen.ip_id == 0) return;
  for (const Before& before : (*session->waiting)[1].packets) {
    const bool same = before.ip_id == seen.ip_id && before.seq == seen.seq && before.at.number != 0 && before.message == 0;
    if (!same || seen.at.time - before.at.time > kFresh) continue;
    c.find(rule::kPushOrder, Certainty::possible, {before.at.number, c.at().number},
           name_of(c.message()) + " comes behind the packet whose header it copies");
    return;
  }
}

// An HS goes behind it.
void hello_order(const Case& c) {
  History& history = c.history;
  const Seen& seen = c.heard.seen;
  if (c.heard.is(MsgType::HS)) {
    history.hs_separate.reset();
    if (is_separate(c.heard) && seen.ip_id != 0) history.hs_separate = seen;
    return;
  }
  if (!history.hs_separate || c.heard.message != nullptr || seen.tuple != history.hs_separate->tuple) return;
  const Seen hello = *history.hs_separate;
  if (seen.ip_id != hello.ip_id || seen.seq != hello.seq || seen.at.time - hello.at.time > kFresh) return;
  history.hs_separate.reset();
  c.find(rule::kHelloOrder, Certainty::possible, {hello.at.number, c.at().number},
         "HS comes before the packet whose header it copies");
}

// The NS that answers an HS goes to whom it came from.
void hello_destination(const Case& c) {
  History& history = c.history;
  const wire::Message& message = c.message();
  if (c.heard.carriage != Carriage::standalone || goes_to_client(c)) return;
  // A cookie of zero says that its sender uses none: such an NS may be any server's.
  if (message.cookie.value == 0 || !has_hello(history, message.cookie)) return;
  const bool last = history.hs && history.hs_cookie == message.cookie;
  c.find(rule::kHelloDestination, Certainty::certain, {last ? history.hs->number : c.at().number, c.at().number},
         name_of(message) + " answers an HS of " + message.st1.src.address.to_string() + " but goes to " +
             c.heard.seen.tuple.dst.address.to_string());
  if (last) history.hs.reset();
}

// In ACT mode a client gets an NS because it sent HS.
void hello_cookie(const Case& c) {
  History& history = c.history;
  const wire::Message& message = c.message();
  if (!goes_to_client(c) || !history.hs) return;
  if (message.cookie == history.hs_cookie) {
    history.hs.reset();
    return;
  }
  const bool known = std::any_of(history.ns.begin(), history.ns.end(), [&](const SentNs& ns) {
    return ns.cookie == message.cookie && ns.at.number != c.at().number;
  });
  const bool fresh = c.at().time - history.hs->time < kFresh;
  if (known || !fresh || has_hello(history, message.cookie)) return;
  const bool only = history.ns_in_all == 1 && history.hellos.size() == 1 && has_one_syn(c);
  c.find(rule::kHelloCookie, only ? Certainty::certain : Certainty::possible, {history.hs->number, c.at().number},
         name_of(message) + " answers HS " + hex8(history.hs_cookie.value) + " with another cookie");
  history.hs.reset();
}

}  // namespace

void check_push(const Case& c) {
  hello_order(c);
  if (c.heard.message == nullptr) return;
  if (c.heard.is(MsgType::PS)) {
    push_cookie(c);
    push_order(c);
  }
  if (c.heard.is(MsgType::NS)) {
    hello_destination(c);
    hello_cookie(c);
  }
  if (c.heard.is(MsgType::HS) && c.heard.session != nullptr && c.heard.side == Side::client) {
    c.history.hs = c.at();
    c.history.hs_cookie = c.message().cookie;
    auto& hellos = c.history.hellos;
    if (hellos.size() == History::kMostHellos) hellos.erase(hellos.begin());
    hellos.push_back(c.message().cookie);
  }
}

void check_push_at_end(const History& history, std::int64_t now, const FindingSink& sink) {
  if (!history.hs || history.psv || now - history.hs->time < kFresh) return;
  sink({&rule::kHelloMissing,
        Certainty::possible,
        {history.hs->number},
        "HS " + hex8(history.hs_cookie.value) + " of a session that the node has is not answered by an NS",
        history.hs->time});
}

}  // namespace asrp::dump
