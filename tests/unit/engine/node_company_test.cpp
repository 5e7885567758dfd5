// SPDX-License-Identifier: BSD-3-Clause
// Full NAT: what may pass before the holder has confirmed the mapping.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:53";
constexpr const char* kNode = "192.0.2.10";

/// UDP behind one server; full NAT or not.
engine::NodeOptions options(bool full_nat) {
  engine::NodeOptions o = udp_options();
  for (engine::Service& service : o.services) service.backends.resize(1);
  if (!full_nat) return o;
  o.services[0].forward = engine::ForwardMode::full_nat;
  o.services[0].full_nat.addresses = {address("10.1.0.1")};
  return o;
}

Buffer datagram_of(std::string_view text) { return udp(kClient, kVip).payload(text).build(); }

/// Two datagrams without a session, RX from the one candidate: what the created session sends.
std::vector<Out> create_with_two(NodeScript& s) {
  const auto asked = s.packet(Tap::stray, datagram_of("one"));
  REQUIRE(kinds(asked) == "drop send_own:QS");
  REQUIRE(kinds(s.packet(Tap::stray, datagram_of("two"))) == "drop");
  const auto q = datagram(asked[1]);
  return s.message(answer_from(*q), kNode, rx_to(*q));
}

}  // namespace

TEST_CASE(
    "full NAT: each held datagram of a new session carries the NS, so that none slips into another session [spec 4.3.3-5]") {
  NodeScript s(options(true));
  const auto outs = create_with_two(s);
  REQUIRE(kinds(outs) == "send_flow send_flow");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto c = carried_by(outs[i].octets);
    REQUIRE(c);
    CHECK(c->message.type == MsgType::NS);
    CHECK(c->message.has(wire::kFlagNa));
    CHECK(c->stripped == forwarded(datagram_of(i == 0 ? "one" : "two")));
  }
  CHECK(s.counter(NodeCounter::sent_ns_inline_udp) == 2);
}

TEST_CASE("with the client's address kept nobody else has the mapping: one NS suffices") {
  NodeScript s(options(false));
  const auto outs = create_with_two(s);
  REQUIRE(kinds(outs) == "send_flow send_flow");
  CHECK(carried_by(outs[0].octets));
  CHECK(!carried_by(outs[1].octets));
  CHECK(kinds(s.packet(Tap::known, datagram_of("three"))) == "accept");
}

TEST_CASE("full NAT: until NA the datagrams of the client carry the NS, after it none does [spec 4.3.4-3]") {
  NodeScript s(options(true));
  const auto outs = create_with_two(s);
  const auto first = carried_by(outs.at(0).octets);
  const auto more = s.packet(Tap::known, datagram_of("three"));
  REQUIRE(kinds(more) == "replace");
  const auto c = carried_by(more[0].octets);
  REQUIRE(c);
  CHECK(c->message.cookie == first->message.cookie);
  CHECK(c->message.tuples() == first->message.tuples());
  CHECK(c->stripped == datagram_of("three"));
  CHECK(s.counter(NodeCounter::sent_ns_inline_udp) == 3);
  const Buffer answer = na(first->message.tuples()).cookie(first->message.cookie.value).protocol(Protocol::udp).build();
  CHECK(s.message({first->message.st2.dst.address, 51200}, kNode, answer).empty());
  CHECK(kinds(s.packet(Tap::known, datagram_of("four"))) == "accept");
  CHECK(s.counter(NodeCounter::sent_ns_inline_udp) == 3);
}

TEST_CASE("full NAT: a datagram without room for the NS ends here while the mapping is unconfirmed") {
  NodeScript s(options(true));
  create_with_two(s);
  CHECK(kinds(s.packet(Tap::known, udp(kClient, kVip).data(1460).build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_unchecked) == 1);
}

TEST_CASE("full NAT: an unprotected session's datagrams go on as they are") {
  NodeScript s(options(true));
  create_with_two(s);
  s.advance(std::chrono::seconds(2));
  REQUIRE(s.flows.entries.at(0).mark == FlowMark::unprotected);
  CHECK(kinds(s.packet(Tap::known, datagram_of("late"))) == "accept");
}

namespace {

constexpr const char* kWeb = "198.51.100.1:80";

/// A SYN that must not be edited: its NS goes apart.
Buffer signed_syn() { return tcp(kClient, kWeb).syn().options("0101131200000000000000000000000000000000").build(); }

Buffer na_to(const wire::Message& ns) { return na(ns.tuples()).cookie(ns.cookie.value).protocol(ns.protocol).build(); }

}  // namespace

TEST_CASE("full NAT: a SYN whose NS went apart waits for the holder's answer [spec 4.3.3-1, 4.3.3-3]") {
  NodeScript s(full_nat_options());
  const auto outs = s.packet(Tap::first, signed_syn());
  REQUIRE(kinds(outs) == "send_own:NS drop");
  const wire::Message first = datagram(outs[0])->message;
  const Endpoint holder{first.st2.dst.address, 51200};
  CHECK(s.counter(NodeCounter::packets_held) == 1);
  SUBCASE("NA: it goes on as it came") {
    const auto sent = s.message(holder, kNode, na_to(first));
    REQUIRE(kinds(sent) == "send_flow");
    CHECK(sent[0].octets == forwarded(signed_syn()));
    CHECK(s.flows.entries.at(0).mark == FlowMark::none);
    CHECK(s.advance(seconds(5)).empty());
  }
  SUBCASE("NC, then NA: only the mapping that the holder has taken is used") {
    const wire::Message second =
        only_datagram(s.message(holder, kNode, nc(first.tuples()).cookie(first.cookie.value).build()), MsgType::NS).message;
    CHECK(second.st2.src.port != first.st2.src.port);
    const auto sent = s.message(holder, kNode, na_to(second));
    REQUIRE(kinds(sent) == "send_flow");
    CHECK(sent[0].octets == forwarded(signed_syn()));
    CHECK(s.flows.entries.at(0).tuples == second.tuples());
  }
  SUBCASE("silence: after the tenth NS the session goes on unprotected, and the SYN with it") {
    const auto sent = s.advance(seconds(1));
    REQUIRE(sent.size() == 10);
    for (std::size_t i = 0; i < 9; ++i) CHECK(datagram(sent[i])->message.type == MsgType::NS);
    CHECK(sent[9].octets == forwarded(signed_syn()));
    CHECK(s.flows.entries.at(0).mark == FlowMark::unprotected);
  }
  SUBCASE("the client's SYN again: one of both goes on") {
    CHECK(kinds(s.packet(Tap::first, signed_syn())) == "drop");
    CHECK(kinds(s.message(holder, kNode, na_to(first))) == "send_flow");
  }
  SUBCASE("its server leaves the pool: it ends here") {
    auto without = full_nat_options();
    without.services.clear();
    s.reconfigure(without);
    CHECK(s.advance(seconds(5)).empty());
    CHECK(s.counter(NodeCounter::drops_unchecked) == 1);
  }
  CHECK(s.engine.gauges().attempts == 0);
  CHECK(s.engine.gauges().held_octets == 0);
  CHECK(s.engine.gauges().waiting == 0);
}

TEST_CASE("full NAT: two SYN of one burst are one") {
  NodeScript s(full_nat_options());
  s.begin_burst();
  s.packet(Tap::first, signed_syn());
  s.packet(Tap::first, signed_syn());
  const auto outs = s.end_burst();
  REQUIRE(kinds(outs) == "send_own:NS drop drop");
  const wire::Message ns = datagram(outs[0])->message;
  CHECK(kinds(s.message({ns.st2.dst.address, 51200}, kNode, na_to(ns))) == "send_flow");
}

TEST_CASE("full NAT: what can't be held ends here, and what need not wait for an NA does not") {
  auto o = full_nat_options();
  SUBCASE("no room") {
    o.limits.attempts = 0;
    NodeScript s(o);
    CHECK(kinds(s.packet(Tap::first, signed_syn())) == "send_own:NS drop");
    CHECK(s.counter(NodeCounter::drops_unchecked) == 1);
    CHECK(s.counter(NodeCounter::limit_attempts) == 1);
  }
  SUBCASE("the session is unprotected at once: too many wait") {
    o.limits.waiting_sessions = 0;
    NodeScript s(o);
    CHECK(kinds(s.packet(Tap::first, signed_syn())) == "send_own:NS accept");
    CHECK(s.flows.entries.at(0).mark == FlowMark::unprotected);
  }
}

TEST_CASE("full NAT: a first datagram too large for the NS waits, those behind it take the NS along") {
  NodeScript s(options(true));
  const Buffer large = udp(kClient, kVip).data(1460).build();
  const auto asked = s.packet(Tap::stray, large);
  s.packet(Tap::stray, datagram_of("two"));
  s.packet(Tap::stray, udp(kClient, kVip).data(1461).build());
  const auto q = datagram(asked.at(1));
  const auto outs = s.message(answer_from(*q), kNode, rx_to(*q));
  REQUIRE(kinds(outs) == "send_own:NS send_flow");
  CHECK(carried_by(outs[1].octets)->stripped == forwarded(datagram_of("two")));
  CHECK(s.counter(NodeCounter::drops_unchecked) == 1);
  const wire::Message ns = datagram(outs[0])->message;
  const auto sent = s.message({ns.st2.dst.address, 51200}, kNode, na_to(ns));
  REQUIRE(kinds(sent) == "send_flow");
  CHECK(sent[0].octets == forwarded(large));
}
