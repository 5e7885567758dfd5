// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: the tap of packets without a session: first datagrams, HS, messages from outside, ICMP errors.
#include "support/act_script.hpp"
#include "support/echo.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::NatNoSession;
using wire::MsgType;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);
const Tuple kUdpFlow = udp_tuple(kInside, "198.51.100.1:9000");
const TuplePair kElsewhere = act_session_at(kFlow, 3000);

Buffer segment(std::string_view text = "data") { return tcp(kFlow).push().payload(text).build(); }
Buffer first_datagram() { return udp(kUdpFlow).payload("data").build(); }

/// What a client's echo request becomes: its identifier is chosen as one port for all that it talks to.
TuplePair echo_session(const Tuple& ping) {
  auto options = nat_options();
  options.nat->endpoint_independent_tcp = true;
  return act_session(ping, 0, options);
}

/// A query for the root.
Buffer dns_query() { return hex("1234 0100 0001 0000 0000 0000 00 0001 0001"); }

}  // namespace

TEST_CASE("ACT: a datagram that begins a session by itself asks nobody (decision 14)") {
  NodeScript s(nat_options());
  const Tuple dns = udp_tuple(kInside, "198.51.100.1:53");
  CHECK(kinds(s.packet(Tap::stray, udp(dns).payload(dns_query()).build())) == "drop send_flow");
  CHECK(s.flows.installed.at(0).tuples == act_session(dns));
  auto options = nat_options();
  options.nat->explicit_first.clear();
  NodeScript other(options);
  only_query(other.packet(Tap::stray, udp(dns).payload(dns_query()).build()));
}

TEST_CASE("ACT: a datagram with HS and no session begins one at once, and is answered behind it (decision 24) [spec 4.3.9-1]") {
  NodeScript s(nat_options());
  const auto outs = s.packet(Tap::stray, with_inline(first_datagram(), hello(Protocol::udp, 9)));
  REQUIRE(kinds(outs) == "drop send_flow send_own:NS");
  CHECK(outs[1].octets == forwarded(first_datagram()));
  const Datagram ns = datagrams(outs, MsgType::NS).at(0);
  CHECK(ns.message.tuples() == act_session(kUdpFlow));
  CHECK(ns.message.cookie.value == 9);
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
}

TEST_CASE("ACT: an HS that follows its datagram says what the client was asked: it has no session") {
  NodeScript s(nat_options());
  const Datagram query = only_query(s.packet(Tap::stray, first_datagram()));
  const auto outs = s.packet(Tap::stray, separate(first_datagram(), hello(Protocol::udp, 9)));
  CHECK(kinds(outs) == "drop send_flow send_own:NS");
  CHECK(outs[1].octets == forwarded(first_datagram()));
  CHECK(s.engine.gauges().recoveries == 0);
  CHECK(s.engine.gauges().held_packets == 0);
  answer(s, query, rx_to(query));
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
}

TEST_CASE("ACT: a segment with HS and no session follows no_session, and nobody is asked (decision 24)") {
  auto options = nat_options();
  SUBCASE("create: it is answered then") {
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::stray, with_inline(segment(), hello(Protocol::tcp, 9)))) == "drop send_flow send_own:NS");
    CHECK(s.counter(NodeCounter::sessions_midstream) == 1);
  }
  SUBCASE("drop: nothing is answered") {
    options.nat->no_session = NatNoSession::drop;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::stray, with_inline(segment(), hello(Protocol::tcp, 9)))) == "drop");
    CHECK(s.counter(NodeCounter::drops_no_session) == 1);
    CHECK(s.counter(NodeCounter::hellos_no_session) == 1);
  }
  SUBCASE("reset") {
    options.nat->no_session = NatNoSession::reset;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::stray, with_inline(segment(), hello(Protocol::tcp, 9)))) == "drop send_own");
    CHECK(s.counter(NodeCounter::resets_sent) == 1);
  }
  SUBCASE("a separate one ends") {
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::stray, separate(segment(), hello(Protocol::tcp, 9)))) == "drop");
    CHECK(s.counter(NodeCounter::hellos_no_session) == 1);
    CHECK(s.flows.entries.empty());
  }
}

TEST_CASE("ACT: an HS whose session has come meanwhile is answered, and its packet goes on") {
  NodeScript s(nat_options());
  s.flows.add(kElsewhere);
  const auto outs = s.packet(Tap::stray, with_inline(segment(), hello(Protocol::tcp, 9)));
  CHECK(kinds(outs) == "drop send_own:NS send_flow");
  CHECK(datagrams(outs, MsgType::NS).at(0).message.tuples() == kElsewhere);
}

TEST_CASE("ACT: packets that were queued before their session came are sent behind it, from both sides") {
  NodeScript s(nat_options());
  s.packet(Tap::stray, with_inline(first_datagram(), hello(Protocol::udp, 9)));
  CHECK(kinds(s.packet(Tap::stray, first_datagram())) == "drop send_flow");
  const Buffer back = udp(act_session(kUdpFlow).server_side.reversed()).payload("r").build();
  CHECK(kinds(s.packet(Tap::stray, back)) == "drop send_flow");
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
}

TEST_CASE("ACT: no message from outside is processed or passed on") {
  NodeScript s(nat_options());
  const Tuple in = kElsewhere.server_side.reversed();
  const Buffer data = tcp(in).push().payload("data").build();
  const Buffer told = ps_of(kElsewhere, key_of(0x22));
  auto outs = s.packet(Tap::stray, with_inline(data, told));
  CHECK(s.counter(NodeCounter::discarded_outside) == 1);
  const Datagram query = only_query(outs);  // a PS would have restored it
  outs = answer(s, query, rs_to(query, kElsewhere));
  REQUIRE(kinds(outs) == "send_flow");
  CHECK(outs[0].octets == forwarded(data));
  CHECK(kinds(s.packet(Tap::stray, separate(data, told))) == "drop");
  CHECK(s.counter(NodeCounter::packets_consumed) == 1);
}

TEST_CASE("ACT: an ICMP error about an unknown session asks for that session, and begins none") {
  NodeScript s(nat_options());
  SUBCASE("from outside, about what the client has sent") {
    const Buffer error =
        icmp_error("198.51.100.9", kOutsideAddress).too_big(1400).quoting(tcp(kElsewhere.server_side).data(8).build()).build();
    const Datagram query = only_query(s.packet(Tap::stray, error));
    CHECK(query.to.address == address("10.0.0.1"));
    CHECK(query.message.st1 == kElsewhere.server_side.reversed());
    CHECK(kinds(answer(s, query, rs_to(query, kElsewhere))) == "send_flow");
  }
  SUBCASE("from a client, about what it got") {
    const Buffer error =
        icmp_error("10.0.0.1", "198.51.100.1").port_unreachable().quoting(udp(kUdpFlow.reversed()).data(8).build()).build();
    const Datagram query = only_query(s.packet(Tap::stray, error));
    CHECK(query.to.address == address("10.0.0.1"));
    CHECK(query.message.st1 == kUdpFlow);
    CHECK(answer(s, query, rx_to(query)).empty());
    CHECK(s.flows.entries.empty());
    CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  }
  SUBCASE("of a client without a holder") {
    s.port_unreachable(only_query(s.packet(Tap::stray, first_datagram())));
    const std::size_t entries = s.flows.entries.size();
    const Buffer error = icmp_error("10.0.0.1", "198.51.100.1")
                             .port_unreachable()
                             .quoting(udp("198.51.100.1:77", kInside).data(8).build())
                             .build();
    CHECK(kinds(s.packet(Tap::stray, error)) == "drop");
    CHECK(s.counter(NodeCounter::drops_icmp) == 1);
    CHECK(s.flows.entries.size() == entries);
  }
}

TEST_CASE("an ICMP error about a message asks nobody: of messages there are no backups") {
  for (const bool from_client : {true, false}) {
    NodeScript s(nat_options());
    const Tuple message = from_client ? udp_tuple("198.51.100.1:51200", "10.0.0.1:51200")
                                      : udp_tuple(std::string(kOutsideAddress) + ":2240", "198.51.100.1:51200");
    const Buffer error =
        icmp_error(message.dst.address, message.src.address).port_unreachable().quoting(udp(message).build()).build();
    CHECK(kinds(s.packet(Tap::stray, error)) == "drop");
    CHECK(s.counter(NodeCounter::drops_icmp) == 1);
  }
}

TEST_CASE(
    "ACT: a client's echo request begins a session, with an identifier of the client's ports in the slice (RFC 5508 REQ-1)") {
  NodeScript s(nat_options());
  const Tuple ping = echo_tuple("10.0.0.1:77", "198.51.100.1");
  const auto outs = s.packet(Tap::stray, echo(ping).build());
  CHECK(kinds(outs) == "drop send_flow");
  CHECK(outs.at(1).octets == forwarded(echo(ping).build()));
  CHECK(s.flows.installed.at(0).tuples == echo_session(ping));
  const Endpoint outside = s.flows.installed[0].tuples.server_side.src;
  CHECK(outside.address == address(kOutsideAddress));
  CHECK(outside.port >= 2240);
  CHECK(outside.port <= 2303);
  // What was queued with it goes behind it.
  CHECK(kinds(s.packet(Tap::stray, echo(ping).sequence(2).build())) == "drop send_flow");
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  // Whoever is asked sees the same identifier (REQ-1a).
  s.packet(Tap::stray, echo(echo_tuple("10.0.0.1:77", "198.51.100.2")).build());
  CHECK(s.flows.installed.at(1).tuples.server_side.src == outside);
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
}

TEST_CASE("ACT: of two requests in one burst the second goes with the first one's session") {
  NodeScript s(nat_options());
  const Tuple ping = echo_tuple("10.0.0.1:77", "198.51.100.1");
  s.begin_burst();
  s.packet(Tap::stray, echo(ping).build());
  s.packet(Tap::stray, echo(ping).sequence(2).build());
  CHECK(kinds(s.end_burst()) == "drop drop send_flow send_flow");
  CHECK(s.flows.installed.size() == 1);
}

TEST_CASE("ACT: only requests of clients begin an echo session, and not to an outside address that clients share") {
  NodeScript s(nat_options());
  const Tuple asked = echo_tuple("198.51.100.1:77", kOutsideAddress);
  CHECK(kinds(s.packet(Tap::stray, echo(asked).build())) == "drop");
  const Tuple stale = echo_tuple(std::string(kOutsideAddress) + ":2240", "198.51.100.1");
  CHECK(kinds(s.packet(Tap::stray, echo(stale.reversed()).build())) == "drop");
  const Tuple unasked = echo_tuple("198.51.100.1:77", "10.0.0.1");
  CHECK(kinds(s.packet(Tap::stray, echo(unasked.reversed()).build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_icmp) == 2);
  CHECK(kinds(s.packet(Tap::stray, echo(echo_tuple("10.0.0.1:77", kOutsideAddress)).build())) == "drop");
  CHECK(kinds(s.packet(Tap::stray, echo(echo_tuple("10.9.9.9:77", "198.51.100.1")).build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 3);
  CHECK(s.flows.installed.empty());
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
}

TEST_CASE("ACT: identifiers run out as ports do, for one client alone") {
  NodeScript s(nat_options());
  const auto outside = [](std::uint16_t id) { return Endpoint{address(kOutsideAddress), id}; };
  for (std::uint16_t id = 2240; id <= 2303; ++id)
    s.flows.add({{endpoint("10.0.0.1:1"), {address("198.51.100.1"), id}, Protocol::icmp},
                 {outside(id), {address("198.51.100.1"), 0}, Protocol::icmp}});
  CHECK(kinds(s.packet(Tap::stray, echo(echo_tuple("10.0.0.1:77", "198.51.100.1")).build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_exhausted) == 1);
  CHECK(kinds(s.packet(Tap::stray, echo(echo_tuple("10.0.0.2:77", "198.51.100.1")).build())) == "drop send_flow");
}

TEST_CASE("ACT: from whom an endpoint takes datagrams without a session (RFC 4787 REQ-8)") {
  using engine::Filtering;
  auto options = nat_options();
  const TuplePair known = act_session(kUdpFlow);
  const Endpoint mapping = known.server_side.src;
  const Endpoint same_host = endpoint("198.51.100.1:4444");
  const Endpoint stranger = endpoint("198.51.100.77:4444");
  const auto taken = [&](NodeScript& s, const Endpoint& from) {
    const std::string what = kinds(s.packet(Tap::stray, udp(from, mapping).payload("x").build()));
    if (what == "drop send_flow") {
      CHECK(s.flows.installed.back().tuples == TuplePair{{kUdpFlow.src, from, Protocol::udp}, {mapping, from, Protocol::udp}});
      return true;
    }
    CHECK(what == "drop send_own:QS");  // its client may have a session with it
    return false;
  };
  for (const auto filtering : {Filtering::address_port, Filtering::address, Filtering::endpoint}) {
    options.nat->filtering = filtering;
    NodeScript s(options);
    s.flows.add(known);
    CHECK(taken(s, same_host) == (filtering != Filtering::address_port));
    CHECK(taken(s, stranger) == (filtering == Filtering::endpoint));
    CHECK(s.counter(NodeCounter::sessions_admitted) == s.counter(NodeCounter::sessions_created));
    // Where nothing is mapped there is nobody to take it.
    CHECK(kinds(s.packet(Tap::stray, udp(stranger, {mapping.address, 3001}).payload("x").build())) == "drop send_own:QS");
    // Connections are begun from inside.
    s.flows.add(act_session(kFlow));
    const Tuple back{stranger, act_session(kFlow).server_side.src, Protocol::tcp};
    CHECK(kinds(s.packet(Tap::stray, tcp(back).syn().build())) == "drop");
    CHECK(s.counter(NodeCounter::drops_outside_syn) == 1);
  }
}

TEST_CASE("ACT: from whom an endpoint takes connections, where TCP's are endpoint-independent (RFC 5382 REQ-3)") {
  auto options = nat_options();
  options.nat->endpoint_independent_tcp = true;
  const TuplePair known = act_session(kFlow, 0, options);
  const Tuple back{endpoint("198.51.100.77:4444"), known.server_side.src, Protocol::tcp};
  for (const auto filtering : {engine::Filtering::address_port, engine::Filtering::endpoint}) {
    options.nat->filtering = filtering;
    NodeScript s(options);
    s.flows.add(known);
    const bool takes = filtering == engine::Filtering::endpoint;
    CHECK(kinds(s.packet(Tap::stray, tcp(back).syn().build())) == (takes ? "drop send_flow" : "drop"));
    REQUIRE(s.flows.installed.size() == (takes ? 1 : 0));
    if (takes) CHECK(s.flows.installed[0].begun_by_server);
    // What is in mid-stream may be a session's of another gateway.
    const Tuple other{endpoint("198.51.100.78:4444"), known.server_side.src, Protocol::tcp};
    CHECK(kinds(s.packet(Tap::stray, tcp(other).flags(0x10).build())) == "drop send_own:QS");
  }
}

TEST_CASE("ACT: several datagrams from outside in one burst are of one session") {
  auto options = nat_options();
  options.nat->filtering = engine::Filtering::endpoint;
  NodeScript s(options);
  s.flows.add(act_session(kUdpFlow));
  const Buffer datagram = udp(endpoint("198.51.100.77:4444"), act_session(kUdpFlow).server_side.src).payload("x").build();
  s.begin_burst();
  s.packet(Tap::stray, datagram);
  s.packet(Tap::stray, datagram);
  CHECK(kinds(s.end_burst()) == "drop drop send_flow send_flow");
  CHECK(s.flows.installed.size() == 1);
  s.engine.set_table_pressure(true);
  CHECK(kinds(s.packet(Tap::stray,
                       udp(endpoint("198.51.100.78:1"), act_session(kUdpFlow).server_side.src).payload("x").build())) ==
        "drop");
  CHECK(s.counter(NodeCounter::drops_refused) == 1);
}
