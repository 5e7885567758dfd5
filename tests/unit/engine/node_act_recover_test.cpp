// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: sessions that come back from their clients (draft 3.5.4, 3.5.5), and clients that have no holder (decisions 12,
// 26).
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::NatNoSession;
using wire::MsgType;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);
const Tuple kUdpFlow = udp_tuple(kInside, "198.51.100.1:9000");
const TuplePair kElsewhere = act_session_at(kFlow, 3000);  // of another gateway's slice

Buffer segment(std::string_view text = "data") { return tcp(kFlow).push().payload(text).build(); }
Buffer datagram_of(std::uint16_t port = 5000) { return udp({address("10.0.0.1"), port}, kUdpFlow.dst).payload("data").build(); }
Buffer reply(std::uint16_t port = 3000, Protocol protocol = Protocol::tcp) {
  const Endpoint to{address(kOutsideAddress), port};
  if (protocol == Protocol::tcp) return tcp(endpoint(kFar), to).push().payload("reply").build();
  return udp(kUdpFlow.dst, to).payload("reply").build();
}

engine::NodeOptions with(NatNoSession no_session) {
  auto options = nat_options();
  options.nat->no_session = no_session;
  return options;
}

/// Three recoveries of a client that says nothing.
void three_silences(NodeScript& s) {
  for (int i = 0; i < 3; ++i) {
    s.packet(Tap::stray, reply(static_cast<std::uint16_t>(3000 + i)));
    s.advance(milliseconds(400));
  }
}

}  // namespace

TEST_CASE("ACT: a client's segment without a session is held, and the client is asked (draft 3.5.5)") {
  NodeScript s(nat_options());
  auto outs = s.packet(Tap::stray, segment());
  CHECK(kinds(outs) == "drop send_own:QS");
  const Datagram query = only_query(outs);
  CHECK(query.to == endpoint("10.0.0.1:51200"));
  CHECK(query.from.address == address(kNodeAddress));
  CHECK(query.message.st1 == kFlow);
  outs = answer(s, query, rs_to(query, kElsewhere));
  REQUIRE(kinds(outs) == "send_flow");
  CHECK(outs[0].octets == forwarded(segment()));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed[0].tuples == kElsewhere);  // the whole range is served
  CHECK(s.flows.installed[0].proven);
  CHECK(s.counter(NodeCounter::sessions_restored_rs) == 1);
}

TEST_CASE("ACT: a packet from outside finds its client by its destination port, which is asked (draft 3.5.4 step 2)") {
  NodeScript s(nat_options());
  auto outs = s.packet(Tap::stray, reply());
  const Datagram query = only_query(outs);
  CHECK(query.to == endpoint("10.0.0.1:51200"));
  CHECK(query.message.st1 == kElsewhere.server_side.reversed());  // as it was
  outs = answer(s, query, rs_to(query, kElsewhere));
  REQUIRE(kinds(outs) == "send_flow");
  CHECK(outs[0].octets == forwarded(reply()));
  CHECK(s.flows.installed.at(0).tuples == kElsewhere);
}

TEST_CASE("ACT: after RX a packet from outside ends, also with no_session = reset") {
  NodeScript s(with(NatNoSession::reset));
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    const Datagram query = only_query(s.packet(Tap::stray, reply(3000, protocol)));
    CHECK(answer(s, query, rx_to(query)).empty());
  }
  CHECK(s.flows.entries.empty());
  CHECK(s.counter(NodeCounter::drops_no_session) == 2);
}

TEST_CASE("ACT: after RX a client's segment follows no_session") {
  SUBCASE("create") {
    NodeScript s(with(NatNoSession::create));
    const Datagram query = only_query(s.packet(Tap::stray, segment()));
    const auto outs = answer(s, query, rx_to(query));
    REQUIRE(kinds(outs) == "send_flow");
    CHECK(s.flows.installed.at(0).tuples == act_session(kFlow));
    CHECK(s.counter(NodeCounter::sessions_midstream) == 1);
  }
  SUBCASE("create, but for what ends a connection") {
    NodeScript s(with(NatNoSession::create));
    const Datagram query = only_query(s.packet(Tap::stray, tcp(kFlow).rst().build()));
    CHECK(answer(s, query, rx_to(query)).empty());
    CHECK(s.flows.entries.empty());
  }
  SUBCASE("reset") {
    NodeScript s(with(NatNoSession::reset));
    const Datagram query = only_query(s.packet(Tap::stray, segment()));
    const auto outs = answer(s, query, rx_to(query));
    REQUIRE(kinds(outs) == "send_own");
    const auto view = packet::PacketView::parse(outs[0].octets);
    CHECK((view->tcp_flags() & packet::kTcpRst) != 0);
    CHECK(view->tuple() == kFlow.reversed());
    CHECK(s.flows.entries.empty());
  }
  SUBCASE("drop") {
    NodeScript s(with(NatNoSession::drop));
    const Datagram query = only_query(s.packet(Tap::stray, segment()));
    CHECK(answer(s, query, rx_to(query)).empty());
    CHECK(s.flows.entries.empty());
    CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  }
}

TEST_CASE("ACT: a datagram whose client has answered RX begins a session, in order with those behind it") {
  NodeScript s(with(NatNoSession::drop));
  const Datagram query = only_query(s.packet(Tap::stray, datagram_of()));
  CHECK(kinds(s.packet(Tap::stray, datagram_of())) == "drop");
  CHECK(s.flows.entries.empty());  // not while its client may still have the session
  CHECK(kinds(answer(s, query, rx_to(query))) == "send_flow send_flow");
  CHECK(s.flows.installed.at(0).tuples == act_session(kUdpFlow));
}

TEST_CASE("ACT: an RS outside of the client's range, or for another client, counts as RX [spec 5-1]") {
  NodeScript s(with(NatNoSession::drop));
  Datagram query = only_query(s.packet(Tap::stray, segment()));
  CHECK(answer(s, query, rs_to(query, act_session_at(kFlow, 4000))).empty());
  CHECK(s.counter(NodeCounter::discarded_illegitimate) == 1);
  CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  query = only_query(s.packet(Tap::stray, reply()));
  const TuplePair neighbours{tcp_tuple("10.0.0.2:5000", kFar), kElsewhere.server_side};
  CHECK(answer(s, query, rs_to(query, neighbours)).empty());
  CHECK(s.counter(NodeCounter::discarded_illegitimate) == 2);
  // A sound session, but not the one that was asked for.
  query = only_query(s.packet(Tap::stray, reply()));
  CHECK(answer(s, query, rs_to(query, act_session_at(kFlow, 3001))).empty());
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  CHECK(s.flows.entries.empty());
}

TEST_CASE("ACT: the entry that is there wins over an RS unless the client's word is newer (decision 13)") {
  NodeScript s(nat_options());
  const Datagram query = only_query(s.packet(Tap::stray, reply()));
  s.packet(Tap::first, tcp(kFlow).syn().build());  // made here, now
  CHECK(kinds(answer(s, query, rs_to(query, kElsewhere))).empty());
  CHECK(s.flows.entries.at(0).tuples == act_session(kFlow));
  CHECK(s.counter(NodeCounter::discarded_entry) == 1);
  // Much later the same client says otherwise: its own sessions it knows best.
  s.advance(seconds(10));
  const Datagram again = only_query(s.packet(Tap::stray, reply()));
  CHECK(kinds(answer(s, again, rs_to(again, kElsewhere))) == "send_flow");
  CHECK(s.flows.entries.at(0).tuples == kElsewhere);
  CHECK(s.counter(NodeCounter::sessions_outdated) == 1);
}

TEST_CASE("ACT: silence is not RX: nothing is created, nothing is reset (decision 12)") {
  NodeScript s(with(NatNoSession::reset));
  only_query(s.packet(Tap::stray, segment()));
  only_query(s.packet(Tap::stray, datagram_of()));
  const auto outs = s.advance(milliseconds(400));
  CHECK(datagrams(outs, MsgType::QS).size() == 6);  // three repeats of each, and no more
  CHECK(outs.size() == 6);
  CHECK(s.counter(NodeCounter::drops_silence) == 2);
  CHECK(s.flows.entries.empty());
  CHECK(s.engine.gauges().held_packets == 0);
}

TEST_CASE("ACT: a client where nobody listens has no holder: its datagram begins a session at once (decision 26)") {
  NodeScript s(nat_options());
  const Datagram query = only_query(s.packet(Tap::stray, datagram_of()));
  CHECK(kinds(s.port_unreachable(query)) == "send_flow");
  CHECK(s.counter(NodeCounter::clients_no_holder) == 1);
  // Nobody is asked from now on.
  CHECK(kinds(s.packet(Tap::stray, datagram_of(5001))) == "drop send_flow");
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop send_flow");  // no_session = create
  CHECK(kinds(s.packet(Tap::stray, reply())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_holder) == 1);
  CHECK(s.counter(NodeCounter::recoveries_started) == 1);
  // Another client is.
  only_query(s.packet(Tap::stray, udp("10.0.0.2:5000", "198.51.100.1:9000").payload("x").build()));
}

TEST_CASE("ACT: segments of a client without a holder follow no_session at once (decision 26)") {
  for (const auto no_session : {NatNoSession::drop, NatNoSession::reset}) {
    NodeScript s(with(no_session));
    s.port_unreachable(only_query(s.packet(Tap::stray, datagram_of())));
    CHECK(kinds(s.packet(Tap::stray, segment())) == (no_session == NatNoSession::drop ? "drop" : "drop send_own"));
    CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  }
}

TEST_CASE("ACT: an ICMP error that quotes no question of ours proves nothing (decision 26)") {
  NodeScript s(nat_options());
  Datagram query = only_query(s.packet(Tap::stray, datagram_of()));
  query.payload.back() ^= 1;
  CHECK(s.port_unreachable(query).empty());
  CHECK(s.counter(NodeCounter::discarded_unreachable) == 1);
  CHECK(s.counter(NodeCounter::clients_no_holder) == 0);
}

TEST_CASE("ACT: three recoveries in silence tell that there is no holder; an answer between begins the count anew") {
  SUBCASE("the third datagram begins its session") {
    NodeScript s(nat_options());
    for (const std::uint16_t port : std::initializer_list<std::uint16_t>{1, 2}) {
      s.packet(Tap::stray, datagram_of(port));
      CHECK(datagrams(s.advance(milliseconds(400)), MsgType::QS).size() == 3);
    }
    CHECK(s.flows.entries.empty());
    s.packet(Tap::stray, datagram_of(3));
    s.packet(Tap::stray, datagram_of(4));
    s.advance(milliseconds(400));
    CHECK(s.flows.entries.size() == 2);  // the fourth does not wait any longer either
    CHECK(s.counter(NodeCounter::clients_no_holder) == 1);
  }
  SUBCASE("with an answer between") {
    NodeScript s(nat_options());
    for (const std::uint16_t port : std::initializer_list<std::uint16_t>{3000, 3001, 3002, 3003}) {
      const Datagram query = only_query(s.packet(Tap::stray, reply(port)));
      if (port == 3002) answer(s, query, rx_to(query));
      s.advance(milliseconds(400));
    }
    CHECK(s.counter(NodeCounter::recoveries_silence) == 3);
    CHECK(s.counter(NodeCounter::clients_no_holder) == 0);
  }
}

TEST_CASE("ACT: that a client has no holder is believed for 60 s from the last sign, and until its holder speaks") {
  NodeScript s(nat_options());
  three_silences(s);
  CHECK(s.counter(NodeCounter::clients_no_holder) == 1);
  SUBCASE("60 s") {
    s.advance(seconds(59));
    CHECK(kinds(s.packet(Tap::stray, reply())) == "drop");
    s.advance(seconds(1));
    only_query(s.packet(Tap::stray, reply()));
  }
  SUBCASE("a further sign") {
    s.advance(seconds(61));
    const Datagram query = only_query(s.packet(Tap::stray, reply()));
    s.port_unreachable(query);
    s.advance(seconds(30));
    s.port_unreachable(query);  // quotes nothing outstanding
    s.advance(seconds(29));
    CHECK(kinds(s.packet(Tap::stray, reply(3010))) == "drop");
    CHECK(s.counter(NodeCounter::clients_no_holder) == 2);
  }
  SUBCASE("an HS") {
    s.packet(Tap::known, with_inline(segment(), hello(Protocol::tcp, 1)));
    CHECK(s.counter(NodeCounter::clients_holder) == 1);
    only_query(s.packet(Tap::stray, reply()));
  }
  SUBCASE("an answer to a question of before") {
    s.advance(seconds(61));
    const Datagram query = only_query(s.packet(Tap::stray, reply()));
    const Datagram other = only_query(s.packet(Tap::stray, reply(3001)));
    s.port_unreachable(query);
    CHECK(kinds(s.packet(Tap::stray, reply(3002))) == "drop");
    answer(s, other, rx_to(other));
    CHECK(s.counter(NodeCounter::clients_holder) == 1);
    only_query(s.packet(Tap::stray, reply(3003)));
  }
}

TEST_CASE("ACT: from outside a SYN asks nobody, and other strays ask a client at most ten times a second (decision 26)") {
  NodeScript s(nat_options());
  CHECK(kinds(s.packet(Tap::stray, tcp(kFar, "203.0.113.8:3000").syn().build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_outside_syn) == 1);
  for (std::uint16_t i = 0; i < 10; ++i) only_query(s.packet(Tap::stray, reply(static_cast<std::uint16_t>(2048 + i))));
  CHECK(kinds(s.packet(Tap::stray, reply(2100))) == "drop");
  CHECK(s.counter(NodeCounter::drops_outside_rate) == 1);
  only_query(s.packet(Tap::stray, tcp(kFar, "203.0.113.8:3072").push().payload("x").build()));  // another client
  s.now += milliseconds(150);
  only_query(s.packet(Tap::stray, reply(2101)));
  // A client's own packets are not counted.
  only_query(s.packet(Tap::stray, segment()));
}

TEST_CASE("ACT: to an outside port that is nobody's nothing is asked") {
  NodeScript s(nat_options());
  CHECK(kinds(s.packet(Tap::stray, reply(1023))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 1);
}

TEST_CASE("ACT: after ranges have moved, former owners of an endpoint are asked too") {
  auto options = nat_options();
  options.nat->past_ranges = {options.nat->ranges};
  options.nat->ranges.networks[0].first_port = 2048;  // all clients of that network move by one
  NodeScript s(options);
  const auto queries = datagrams(s.packet(Tap::stray, reply(3000)), MsgType::QS);
  REQUIRE(queries.size() == 2);
  CHECK(queries[0].to.address == address("10.0.0.0"));
  CHECK(queries[1].to.address == address("10.0.0.1"));
  CHECK(answer(s, queries[0], rx_to(queries[0])).empty());
  CHECK(kinds(answer(s, queries[1], rs_to(queries[1], kElsewhere))) == "send_flow");
  CHECK(s.flows.installed.at(0).tuples == kElsewhere);
  // New ones are made in the range of today.
  s.packet(Tap::first, tcp("10.0.0.1:6000", kFar).syn().build());
  CHECK(s.flows.installed.at(1).tuples == act_session(tcp_tuple("10.0.0.1:6000", kFar), 0, options));
}

TEST_CASE("ACT: between two clients that meet through us, each may have the session") {
  NodeScript s(nat_options());
  // 10.0.0.1 has reached 10.0.0.2:7000 as 203.0.113.8:3100; this is that one's answer.
  const TuplePair pair{tcp_tuple(kInside, "203.0.113.8:3100"), tcp_tuple("203.0.113.8:2300", "10.0.0.2:7000")};
  const Buffer back = tcp(pair.server_side.reversed()).push().payload("x").build();
  const auto queries = datagrams(s.packet(Tap::stray, back), MsgType::QS);
  REQUIRE(queries.size() == 2);
  CHECK(queries[0].to.address == address("10.0.0.2"));
  CHECK(queries[1].to.address == address("10.0.0.1"));
  CHECK(answer(s, queries[0], rx_to(queries[0])).empty());
  CHECK(kinds(answer(s, queries[1], rs_to(queries[1], pair))) == "send_flow");
  CHECK(s.flows.installed.at(0).tuples == pair);
}

TEST_CASE("ACT: what is in flight for a network that is removed ends") {
  auto options = nat_options();
  NodeScript s(options);
  only_query(s.packet(Tap::stray, segment()));
  only_query(s.packet(Tap::stray, reply(3001)));
  options.nat->ranges.networks.erase(options.nat->ranges.networks.begin());
  CHECK(s.reconfigure(options).empty());
  CHECK(s.counter(NodeCounter::drops_reconfigured) == 2);
  CHECK(s.engine.gauges().recoveries == 0);
  // Off altogether, and on again.
  options.nat.reset();
  s.reconfigure(options);
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_service) == 1);
  s.reconfigure(nat_options());
  only_query(s.packet(Tap::stray, segment()));
}
