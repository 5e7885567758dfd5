// SPDX-License-Identifier: BSD-3-Clause
// Full NAT, UDP: what follows the first datagram before the holder has confirmed the mapping.
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
  const Buffer answer = na(first->message.tuples()).cookie(first->message.cookie.value).protocol(Protocol::udp).build();
  CHECK(s.message({first->message.st2.dst.address, 51200}, kNode, answer).empty());
  CHECK(kinds(s.packet(Tap::known, datagram_of("four"))) == "accept");
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
