// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: outside ports (decision 25; RFC 4787, 5382, 6056), and clients that have none left.
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr std::uint16_t kFirst = 2240;  // our slice of 10.0.0.1's range
constexpr std::uint16_t kLast = 2303;

Tuple flow(std::uint16_t port, std::string_view to = kFar) {
  return {{address("10.0.0.1"), port}, endpoint(to), Protocol::tcp};
}
Buffer syn(const Tuple& tuple) { return tcp(tuple).syn().seq(tuple.src.port).build(); }

/// Takes all ports of the slice towards kFar; `closing` of them are closed connections'.
void fill(NodeScript& s, std::uint16_t closing = 0) {
  for (std::uint16_t port = kFirst; port <= kLast; ++port) {
    s.flows.add(act_session_at(flow(static_cast<std::uint16_t>(20000 + port)), port), engine::FlowMark::none, port == closing);
  }
}

}  // namespace

TEST_CASE("ACT: two clients with one source port, to one server, do not meet") {
  NodeScript s(nat_options());
  s.packet(Tap::first, syn(tcp_tuple("10.0.0.1:5000", kFar)));
  s.packet(Tap::first, syn(tcp_tuple("10.0.0.2:5000", kFar)));
  REQUIRE(s.flows.installed.size() == 2);
  CHECK(s.flows.installed[0].tuples.server_side.src.port / 1024 == 2);
  CHECK(s.flows.installed[1].tuples.server_side.src.port / 1024 == 3);
  CHECK(s.counter(NodeCounter::conflicts_local) == 0);
}

TEST_CASE("ACT: a port that is taken is passed over, within the slice") {
  NodeScript s(nat_options());
  const Tuple mine = flow(5000);
  const Endpoint first = outside_of(nat_options(), mine);
  s.flows.add(act_session_at(flow(6000), first.port));
  CHECK(kinds(s.packet(Tap::first, syn(mine))) == "accept");
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed[0].tuples == act_session(mine, 1));
  CHECK(s.counter(NodeCounter::conflicts_local) == 1);
}

TEST_CASE("ACT: each port of the slice is used towards one server, and none besides; others notice nothing (decision 25)") {
  NodeScript s(nat_options());
  std::set<std::uint16_t> ports;
  for (std::uint16_t port = 1; port <= kLast - kFirst + 1; ++port) {
    REQUIRE(kinds(s.packet(Tap::first, syn(flow(port)))) == "accept");
    ports.insert(s.flows.installed.back().tuples.server_side.src.port);
  }
  CHECK(ports.size() == 64);
  CHECK(*ports.begin() == kFirst);
  CHECK(*ports.rbegin() == kLast);
  CHECK(kinds(s.packet(Tap::first, syn(flow(100)))) == "drop");
  CHECK(s.counter(NodeCounter::drops_exhausted) == 1);
  REQUIRE(s.events.count(engine::EventKind::limit_reached) == 1);
  CHECK(s.events.all.back().peer == address("10.0.0.1"));
  // To another server, and another client.
  CHECK(kinds(s.packet(Tap::first, syn(flow(100, "198.51.100.2:80")))) == "accept");
  CHECK(kinds(s.packet(Tap::first, syn(tcp_tuple("10.0.0.2:100", kFar)))) == "accept");
}

TEST_CASE("ACT: that a client has no port free is remembered for a second, and told once a minute") {
  NodeScript s(nat_options());
  fill(s);
  s.packet(Tap::first, syn(flow(100)));
  const int batches = s.flows.batches;
  CHECK(kinds(s.packet(Tap::first, syn(flow(101)))) == "drop");
  CHECK(s.flows.batches == batches);
  CHECK(s.counter(NodeCounter::drops_exhausted) == 2);
  CHECK(s.events.count(engine::EventKind::limit_reached) == 1);
  s.flows.remove(s.flows.entries[7].tuples.client_side);
  s.now += milliseconds(1001);
  CHECK(kinds(s.packet(Tap::first, syn(flow(102)))) == "accept");
  CHECK(kinds(s.packet(Tap::first, syn(flow(103)))) == "drop");
  CHECK(s.events.count(engine::EventKind::limit_reached) == 1);
  s.now += std::chrono::minutes(1);
  s.packet(Tap::first, syn(flow(104)));
  CHECK(s.events.count(engine::EventKind::limit_reached) == 2);
}

TEST_CASE("ACT: a client without a port is told by ICMP if it is to be") {
  auto options = nat_options();
  options.nat->on_exhausted = engine::OnExhausted::icmp;
  NodeScript s(options);
  fill(s);
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{100, 101}) {  // found out, and remembered
    const auto outs = s.packet(Tap::first, syn(flow(port)));
    REQUIRE(kinds(outs) == "drop send_own");
    const auto view = packet::PacketView::parse(outs[1].octets);
    REQUIRE(view);
    CHECK(view->protocol() == Protocol::icmp);
    CHECK(view->tuple().src.address == address(kNodeAddress));
    CHECK(view->tuple().dst.address == address("10.0.0.1"));
    CHECK(packet::quoted_tuple(*view) == flow(port));
  }
  CHECK(s.counter(NodeCounter::unreachable_sent) == 2);
}

TEST_CASE("ACT: the port of a closed connection is taken last (RFC 5382, 6056)") {
  const Tuple mine = flow(5000);
  const std::uint16_t first = outside_of(nat_options(), mine).port;
  SUBCASE("another one is free") {
    NodeScript s(nat_options());
    s.flows.add(act_session_at(flow(6000), first), engine::FlowMark::none, true);
    s.packet(Tap::first, syn(mine));
    CHECK(s.flows.entries.size() == 2);
    CHECK(s.flows.installed[0].tuples == act_session(mine, 1));
    CHECK(s.counter(NodeCounter::sessions_port_reused) == 0);
  }
  SUBCASE("none is free") {
    NodeScript s(nat_options());
    const std::uint16_t closing = outside_of(nat_options(), mine, 5).port;
    fill(s, closing);
    CHECK(kinds(s.packet(Tap::first, syn(mine))) == "accept");
    CHECK(s.flows.entries.size() == 64);
    REQUIRE(s.flows.installed.size() == 1);
    CHECK(s.flows.installed[0].tuples == act_session_at(mine, closing));
    CHECK(s.counter(NodeCounter::sessions_port_reused) == 1);
    CHECK(s.counter(NodeCounter::drops_exhausted) == 0);
  }
}

TEST_CASE("ACT: datagrams of one client endpoint have one outside port, connections one each (RFC 4787 REQ-1)") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  std::set<std::uint16_t> udp_ports;
  std::set<std::uint16_t> tcp_ports;
  for (int i = 1; i <= 8; ++i) {
    const std::string far = "198.51.100." + std::to_string(i) + ":53";
    s.packet(Tap::stray, udp(kInside, far).payload("q").build());
    udp_ports.insert(s.flows.installed.back().tuples.server_side.src.port);
    s.packet(Tap::first, tcp(kInside, far).syn().build());
    tcp_ports.insert(s.flows.installed.back().tuples.server_side.src.port);
  }
  CHECK(udp_ports.size() == 1);
  CHECK(tcp_ports.size() > 1);
}

TEST_CASE("ACT: parity of ports is kept if it is to be (RFC 4787 REQ-4)") {
  auto options = nat_options();
  options.nat->port_parity = true;
  NodeScript s(options);
  for (std::uint16_t port = 1; port <= 20; ++port) {
    s.packet(Tap::first, syn(flow(port)));
    CHECK(s.flows.installed.back().tuples.server_side.src.port % 2 == port % 2);
  }
}

TEST_CASE("ACT: a full table ends the packet") {
  NodeScript s(nat_options());
  s.flows.capacity = 0;
  CHECK(kinds(s.packet(Tap::first, syn(flow(1)))) == "drop");
  CHECK(s.counter(NodeCounter::drops_table_full) == 1);
}

TEST_CASE("ACT: with a prefix mapping each client has an address of its own, and its ports") {
  auto options = nat_options();
  policy::ClientNetwork whole;
  whole.clients = {*Prefix::parse("fd00:7::/64")};
  whole.outside = {*Prefix::parse("2001:db8:77::/64")};
  whole.mapping = policy::ClientMapping::prefix;
  options.nat->ranges.networks.push_back(whole);
  NodeScript s(options);
  const Tuple mine = tcp_tuple("[fd00:7::5]:5000", "[2001:db8::1]:80");
  CHECK(kinds(s.packet(Tap::first, syn(mine))) == "accept");
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed[0].tuples.server_side.src == endpoint("[2001:db8:77::5]:5000"));
  // Another client's outside address is that client (RFC 4787 REQ-9).
  const Tuple near = tcp_tuple("[fd00:7::5]:5001", "[2001:db8:77::6]:80");
  CHECK(kinds(s.packet(Tap::first, syn(near))) == "accept");
  CHECK(s.flows.installed[1].tuples == TuplePair{near, tcp_tuple("[2001:db8:77::5]:5001", "[fd00:7::6]:80")});
  options.nat->hairpin = false;
  s.reconfigure(options);
  CHECK(kinds(s.packet(Tap::first, syn(tcp_tuple("[fd00:7::5]:5002", "[2001:db8:77::6]:80")))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 1);
}

TEST_CASE("ACT: a client's outside endpoint where nothing is mapped takes nothing") {
  NodeScript s(nat_options());
  CHECK(kinds(s.packet(Tap::first, syn(flow(1, "203.0.113.8:3100")))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 1);
  CHECK(s.flows.entries.empty());
}

TEST_CASE("ACT: an endpoint keeps the port by which it is known, also one of another slice (RFC 4787 REQ-1, decision 27)") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  const Tuple before = udp_tuple(kInside, "198.51.100.1:9000");
  s.flows.add(act_session_at(before, 3000));  // an RS had brought it
  const Tuple other = udp_tuple(kInside, "198.51.100.2:9000");
  CHECK(s.engine.explain(s.now, other, true).mapping == act_session_at(other, 3000).server_side.src);
  s.packet(Tap::stray, udp(other).payload("x").build());
  CHECK(s.flows.installed.at(0).tuples == act_session_at(other, 3000));
  // Connections have ports of their own.
  s.packet(Tap::first, syn(tcp_tuple(kInside, kFar)));
  CHECK(s.flows.installed.at(1).tuples == act_session(tcp_tuple(kInside, kFar)));
}

TEST_CASE("ACT: a port that is another endpoint's is not given to a second one, to whatever server (RFC 4787 REQ-3)") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  std::set<std::uint16_t> ports;
  for (std::uint16_t port = 1; port <= 64; ++port) {
    const Endpoint far{address("198.51.100.1"), static_cast<std::uint16_t>(10000 + port)};  // each to a place of its own
    CHECK(kinds(s.packet(Tap::stray, udp({address("10.0.0.1"), port}, far).payload("x").build())) == "drop send_flow");
    ports.insert(s.flows.installed.back().tuples.server_side.src.port);
  }
  CHECK(ports.size() == 64);
  CHECK(s.counter(NodeCounter::conflicts_local) == 0);  // seen before the table was asked to make them
  CHECK(kinds(s.packet(Tap::stray, udp("10.0.0.1:99", kFar).payload("x").build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_exhausted) == 1);
  // One of those that have a port still reaches everybody.
  CHECK(kinds(s.packet(Tap::stray, udp("10.0.0.1:64", "198.51.100.9:9").payload("x").build())) == "drop send_flow");
}

TEST_CASE("ACT: where an endpoint's port is taken towards a server, another one is used there") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  const Tuple mine = udp_tuple(kInside, "198.51.100.1:9000");
  const Tuple elsewhere = udp_tuple(kInside, "198.51.100.2:9000");
  s.flows.add(act_session_at(elsewhere, 3000));
  s.flows.add(act_session_at(udp_tuple("10.0.0.1:7777", "198.51.100.1:9000"), 3000));
  CHECK(kinds(s.packet(Tap::stray, udp(mine).payload("x").build())) == "drop send_flow");
  CHECK(s.flows.installed.at(0).tuples == act_session(mine, 0));
  CHECK(s.counter(NodeCounter::conflicts_local) == 1);
}

TEST_CASE("ACT: a client reaches another one's mapping through the outside address (RFC 4787 REQ-9)") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  const Tuple theirs = udp_tuple("10.0.0.2:7000", "198.51.100.1:9000");
  s.packet(Tap::stray, udp(theirs).payload("x").build());
  const Endpoint mapping = s.flows.installed.at(0).tuples.server_side.src;
  const Tuple mine{endpoint(kInside), mapping, Protocol::udp};
  CHECK(kinds(s.packet(Tap::stray, udp(mine).payload("x").build())) == "drop send_flow");
  const TuplePair made = s.flows.installed.at(1).tuples;
  CHECK(made.client_side == mine);
  CHECK(made.server_side.dst == endpoint("10.0.0.2:7000"));
  CHECK(made.server_side.src == outside_of(options, mine));  // by which everybody else knows it, too
  options.nat->hairpin = false;
  s.reconfigure(options);
  const Tuple again{endpoint("10.0.0.3:1"), mapping, Protocol::udp};
  CHECK(kinds(s.packet(Tap::stray, udp(again).payload("x").build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 1);
}

TEST_CASE("ACT: a client without a free port goes on with those that it has") {
  auto options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  NodeScript s(options);
  fill(s);
  CHECK(kinds(s.packet(Tap::first, syn(flow(100)))) == "drop");
  const Tuple there = s.flows.entries[9].tuples.client_side;
  CHECK(kinds(s.packet(Tap::first, syn(there))) == "accept");  // its SYN was lost behind us
  CHECK(s.counter(NodeCounter::sessions_again) == 1);
  // Datagrams: all ports are endpoints', and one of these begins a session more, where the last endpoint got none.
  for (std::uint16_t port = 1; port <= 65; ++port) {
    s.packet(Tap::stray, udp({address("10.0.0.1"), port}, endpoint(kFar)).payload("x").build());
  }
  CHECK(s.counter(NodeCounter::drops_exhausted) == 2);
  s.now += milliseconds(100);
  s.flows.remove(udp_tuple("10.0.0.1:1", kFar));
  s.flows.add(act_session_at(udp_tuple("10.0.0.1:1", "198.51.100.9:9"), 3000));
  CHECK(kinds(s.packet(Tap::stray, udp("10.0.0.1:1", kFar).payload("x").build())) == "drop send_flow");
  CHECK(s.flows.installed.back().tuples.server_side.src.port == 3000);
}
