// SPDX-License-Identifier: BSD-3-Clause
// Packets without a session: from servers, with and without PS; ICMP errors; what belongs to no service.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kServer = "10.0.0.2:8080";
constexpr const char* kNode = "192.0.2.10";

TuplePair session() { return {tcp_tuple(kClient, kVip), tcp_tuple(kClient, kServer)}; }
Buffer reply(std::string_view text = "reply") { return tcp(kServer, kClient).push().payload(text).build(); }
Buffer syn_ack() { return tcp(kServer, kClient).syn_ack().options("020405b4").build(); }
Buffer good_ps(const TuplePair& pair) { return ps_of(pair, key_of(0x22)); }

}  // namespace

TEST_CASE("a server's packet is held and its sender asked with the packet's own tuple [spec 3.5.2-1, 4.1.2-3]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, reply());
  REQUIRE(kinds(outs) == "drop send_own:QS");
  const auto q = datagram(outs[1]);
  CHECK(q->to == endpoint("10.0.0.2:51200"));
  CHECK(q->message.st1 == tcp_tuple(kServer, kClient));
  const auto sent = s.message(answer_from(*q), kNode, rs_to(*q, session()));
  REQUIRE(kinds(sent) == "send_flow");
  CHECK(sent[0].octets == forwarded(reply()));
  CHECK(s.flows.installed.at(0).tuples == session());
}

TEST_CASE("SYN/ACK, FIN and RST of servers are recovered like data") {
  for (const Buffer& packet : {syn_ack(), tcp(kServer, kClient).fin().build(), tcp(kServer, kClient).rst().build()}) {
    NodeScript s(basic_options());
    const auto outs = s.packet(Tap::stray, packet);
    REQUIRE(kinds(outs) == "drop send_own:QS");
    const auto q = datagram(outs[1]);
    CHECK(kinds(s.message(answer_from(*q), kNode, rs_to(*q, session()))) == "send_flow");
  }
}

TEST_CASE("full NAT: a server's packet belongs to the service by its destination") {
  NodeScript s(full_nat_options());
  CHECK(kinds(s.packet(Tap::stray, tcp(kServer, "10.1.0.1:2000").push().payload("x").build())) == "drop send_own:QS");
  CHECK(kinds(s.packet(Tap::stray, tcp(kServer, "10.1.0.2:2000").push().payload("x").build())) == "drop");
  CHECK(kinds(s.packet(Tap::stray, tcp(kServer, "10.1.0.1:1023").push().payload("x").build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_service) == 2);
}

TEST_CASE("what belongs to no service is dropped, and nobody is asked") {
  NodeScript s(basic_options());
  for (const Buffer& packet :
       {tcp("203.0.113.7:1", "198.51.100.9:80").push().payload("x").build(), tcp("10.0.0.9:8080", kClient).build(),
        tcp("10.0.0.2:81", kClient).build(), udp(kClient, kVip).payload("x").build()}) {
    CHECK(kinds(s.packet(Tap::stray, packet)) == "drop");
  }
  CHECK(s.counter(NodeCounter::drops_no_service) == 4);
}

TEST_CASE("an inline PS restores without a query [spec 4.3.10-1, 4.3.10-2, 4.3.2-6]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, with_inline(syn_ack(), good_ps(session())));
  REQUIRE(kinds(outs) == "drop send_flow");
  CHECK(outs[1].octets == forwarded(syn_ack()));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed.at(0).tuples == session());
  CHECK(s.flows.installed.at(0).proven);
  CHECK(s.counter(NodeCounter::sessions_restored_ps) == 1);
  CHECK(s.counter(NodeCounter::received_ps) == 1);
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
}

TEST_CASE("an inline PS on UDP restores without a query") {
  NodeScript s(udp_options());
  const TuplePair pair{udp_tuple("203.0.113.7:5000", "198.51.100.1:53"), udp_tuple("203.0.113.7:5000", "10.0.0.2:5353")};
  const Buffer answer = udp("10.0.0.2:5353", "203.0.113.7:5000").payload("answer").build();
  const auto outs = s.packet(Tap::stray, with_inline(answer, good_ps(pair)));
  REQUIRE(kinds(outs) == "drop send_flow");
  CHECK(outs[1].octets == forwarded(answer));
}

TEST_CASE("a separate PS is consumed; the packet that it announces follows [spec 3.4.1-1]") {
  for (const bool same_burst : {true, false}) {
    CAPTURE(same_burst);
    NodeScript s(basic_options());
    if (same_burst) s.begin_burst();
    auto first = s.packet(Tap::stray, separate(reply(), good_ps(session())));
    auto second = s.packet(Tap::stray, reply());
    if (same_burst) {
      CHECK(kinds(s.end_burst()) == "drop drop send_flow");
    } else {
      CHECK(kinds(first) == "drop");
      CHECK(kinds(second) == "drop send_flow");
    }
    CHECK(s.flows.installed.size() == 1);
    CHECK(s.counter(NodeCounter::packets_consumed) == 1);
    CHECK(s.counter(NodeCounter::recoveries_started) == 0);
  }
}

TEST_CASE("a PS ends the query that an earlier packet had begun") {
  NodeScript s(basic_options());
  s.packet(Tap::stray, reply("first"));
  const auto outs = s.packet(Tap::stray, with_inline(reply("second"), good_ps(session())));
  REQUIRE(kinds(outs) == "drop send_flow send_flow");
  CHECK(outs[1].octets == forwarded(reply("first")));
  CHECK(outs[2].octets == forwarded(reply("second")));
  CHECK(s.engine.gauges().recoveries == 0);
  CHECK(s.advance(seconds(1)).empty());
}

TEST_CASE("a PS that does not verify is discarded, and its packet goes the way of one without [spec 4.3.2-6, 5-1, 5-2, 5-3]") {
  struct Case {
    Buffer message;
    NodeCounter why;
  };
  const Case cases[] = {
      {ps_of(session(), key_of(0x33)), NodeCounter::discarded_cookie},
      {good_ps({tcp_tuple(kClient, kVip), tcp_tuple("203.0.113.7:50001", kServer)}), NodeCounter::discarded_tuple},
      {good_ps({tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.3:8080")}), NodeCounter::discarded_tuple},
      {good_ps({tcp_tuple(kClient, "198.51.100.2:80"), tcp_tuple(kClient, kServer)}), NodeCounter::discarded_illegitimate},
      {good_ps({tcp_tuple("203.0.113.8:1", kVip), tcp_tuple(kClient, kServer)}), NodeCounter::discarded_illegitimate},
      {rs(session()).build(), NodeCounter::discarded_unexpected},
      {ps(session()).protocol(Protocol::udp).build(), NodeCounter::discarded_protocol},
  };
  for (const Case& c : cases) {
    CAPTURE(engine::info(c.why).name);
    NodeScript s(basic_options());
    const auto outs = s.packet(Tap::stray, with_inline(reply(), c.message));
    REQUIRE(kinds(outs) == "drop send_own:QS");
    CHECK(s.counter(c.why) == 1);
    CHECK(s.flows.installed.empty());
    CHECK(s.events.count(EventKind::message_discarded) == 1);
    // What was held is the packet without the message.
    const auto q = datagram(outs[1]);
    const auto sent = s.message(answer_from(*q), kNode, rs_to(*q, session()));
    REQUIRE(kinds(sent) == "send_flow");
    CHECK(sent[0].octets == forwarded(reply()));
  }
}

TEST_CASE("a PS under a former key is verified as long as the key is accepted (decision 10)") {
  auto options = basic_options();
  options.cookie_keys.accept = {key_of(0x33)};
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::stray, with_inline(reply(), ps_of(session(), key_of(0x33))))) == "drop send_flow");
}

TEST_CASE("a PS for a disabled server or an address outside of the range is not legitimate [spec 5-1, 5-3]") {
  SUBCASE("disabled: its packets belong to nobody") {
    auto options = basic_options();
    options.services[0].backends[1].state = engine::BackendState::disabled;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::stray, with_inline(reply(), good_ps(session())))) == "drop");
    CHECK(s.counter(NodeCounter::drops_no_service) == 1);
  }
  SUBCASE("full NAT") {
    NodeScript s(full_nat_options());
    const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:3000", kServer)};
    CHECK(kinds(s.packet(Tap::stray, with_inline(tcp(kServer, "10.1.0.1:3000").push().payload("x").build(), good_ps(pair)))) ==
          "drop send_flow");
    CHECK(s.flows.installed.at(0).tuples == pair);
  }
}

TEST_CASE("two PS of one burst that contradict each other: the first stays") {
  NodeScript s(full_nat_options());
  const Buffer packet = tcp(kServer, "10.1.0.1:3000").push().payload("x").build();
  const TuplePair one{tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:3000", kServer)};
  const TuplePair two{tcp_tuple("203.0.113.8:1", kVip), tcp_tuple("10.1.0.1:3000", kServer)};
  s.begin_burst();
  s.packet(Tap::stray, with_inline(packet, good_ps(one)));
  s.packet(Tap::stray, with_inline(packet, good_ps(two)));
  CHECK(kinds(s.end_burst()) == "drop drop send_flow");
  CHECK(s.counter(NodeCounter::discarded_entry) == 1);
  CHECK(s.flows.installed.at(0).tuples == one);
}

TEST_CASE("a live entry wins over PS, and the packet is dropped (decision 13)") {
  NodeScript s(full_nat_options());
  const TuplePair there{tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:4000", "10.0.0.77:8080")};
  s.flows.add(there);
  const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:3000", kServer)};
  const auto outs = s.packet(Tap::stray, with_inline(tcp(kServer, "10.1.0.1:3000").push().payload("x").build(), good_ps(pair)));
  CHECK(kinds(outs) == "drop");
  CHECK(s.flows.entries.at(0).tuples == there);
  CHECK(s.counter(NodeCounter::discarded_entry) == 1);
  CHECK(s.counter(NodeCounter::drops_conflict) == 1);
}

TEST_CASE("messages from the client's side are taken out, not processed (decision 9)") {
  NodeScript s(basic_options());
  const Buffer packet = tcp(kClient, kVip).push().payload("data").build();
  SUBCASE("inline") {
    const auto outs = s.packet(Tap::stray, with_inline(packet, good_ps(session())));
    REQUIRE(kinds(outs) == "drop send_own:QS send_own:QS");
    CHECK(s.counter(NodeCounter::discarded_client) == 1);
    const auto q = datagram(outs[1]);
    const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {q->to.address, 8080}, Protocol::tcp}};
    const auto sent = s.message(answer_from(*q), kNode, rs_to(*q, pair));
    REQUIRE(kinds(sent) == "send_flow");
    CHECK(sent[0].octets == forwarded(packet));
  }
  SUBCASE("separate: nothing of the flow is left") {
    CHECK(kinds(s.packet(Tap::stray, separate(packet, hs(Protocol::tcp).build()))) == "drop");
    CHECK(s.counter(NodeCounter::packets_consumed) == 1);
    CHECK(s.counter(NodeCounter::recoveries_started) == 0);
  }
  CHECK(s.flows.installed.size() <= 1);
}

TEST_CASE("an ICMP error about an unknown session asks for the quoted packet's session, and follows it") {
  SUBCASE("from the client's side: a router complains about what the cluster sent") {
    NodeScript s(basic_options());
    const Buffer quoted = tcp(kVip, kClient).push().data(1400).build();
    const Buffer error = icmp_error("203.0.113.254", "198.51.100.1").too_big(1400).quoting(quoted, 28).build();
    const auto outs = s.packet(Tap::stray, error);
    REQUIRE(kinds(outs) == "drop send_own:QS send_own:QS");
    const auto q = datagram(outs[1]);
    CHECK(q->message.st1 == tcp_tuple(kClient, kVip));
    const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {q->to.address, 8080}, Protocol::tcp}};
    const auto sent = s.message(answer_from(*q), kNode, rs_to(*q, pair));
    REQUIRE(kinds(sent) == "send_flow");
    CHECK(sent[0].octets == forwarded(error));
  }
  SUBCASE("from the server's side") {
    NodeScript s(full_nat_options());
    const Buffer quoted = tcp("10.1.0.1:3000", kServer).push().data(1400).build();
    const auto outs = s.packet(Tap::stray, icmp_error("10.0.0.254", "10.1.0.1").too_big(1300).quoting(quoted).build());
    REQUIRE(kinds(outs) == "drop send_own:QS");
    CHECK(datagram(outs[1])->to == endpoint("10.0.0.2:51200"));
    CHECK(datagram(outs[1])->message.st1 == tcp_tuple(kServer, "10.1.0.1:3000"));
  }
  SUBCASE("IPv6, packet too big") {
    NodeScript s(basic_options());
    const Buffer quoted = tcp("[2001:db8:1::1]:80", "[2001:db8::7]:5000").push().data(1300).build();
    const auto outs = s.packet(Tap::stray, icmp_error("2001:db8::ff", "2001:db8:1::1").too_big(1280).quoting(quoted).build());
    REQUIRE(kinds(outs) == "drop send_own:QS send_own:QS");
    CHECK(datagram(outs[1])->message.st1 == tcp_tuple("[2001:db8::7]:5000", "[2001:db8:1::1]:80"));
  }
  SUBCASE("no error, or about somebody else's flow") {
    NodeScript s(basic_options());
    const Buffer quoted = tcp("192.0.2.1:1", "192.0.2.2:2").build();
    CHECK(kinds(s.packet(Tap::stray, icmp_error("203.0.113.1", "198.51.100.1").quoting(quoted).build())) == "drop");
    CHECK(s.counter(NodeCounter::drops_no_service) == 1);
    CHECK(kinds(s.packet(Tap::stray, icmp_error("203.0.113.1", "198.51.100.1").type(8, 0).build())) == "drop");
    CHECK(s.counter(NodeCounter::drops_icmp) == 1);
  }
}

TEST_CASE("an ICMP error creates no UDP session, a datagram that joins it does") {
  NodeScript s(udp_options());
  const Buffer quoted = udp("198.51.100.1:53", "203.0.113.7:5000").payload("x").build();
  const Buffer error = icmp_error("203.0.113.7", "198.51.100.1").port_unreachable().quoting(quoted).build();
  auto outs = s.packet(Tap::stray, error);
  bool joined = false;
  SUBCASE("the error alone") {}
  SUBCASE("with a datagram") { joined = true; }
  if (joined) s.packet(Tap::stray, udp("203.0.113.7:5000", "198.51.100.1:53").payload("y").build());
  for (std::size_t i = 1; i < outs.size(); ++i) {
    const auto q = datagram(outs[i]);
    for (Out& out : s.message(answer_from(*q), kNode, rx_to(*q))) {
      if (datagram(out)) outs.push_back(std::move(out));
    }
  }
  CHECK(s.flows.installed.size() == (joined ? 1 : 0));
  s.advance(milliseconds(200));  // the copy for an NC
  CHECK(s.engine.gauges().held_octets == 0);
}
