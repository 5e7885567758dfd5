// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: clients of a network that was taken out of the configuration. Their TCP sessions end by themselves, here or at
// another gateway; nothing new is begun for them.
#include "support/act_script.hpp"
#include "support/echo.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);
const TuplePair kOpen = act_session_at(kFlow, 3000);
const Tuple kUdpFlow = udp_tuple(kInside, "198.51.100.1:9000");

/// Only the IPv6 network is left.
engine::NodeOptions without_office() {
  auto options = nat_options();
  options.nat->past_ranges = {options.nat->ranges};
  options.nat->ranges.networks.erase(options.nat->ranges.networks.begin());
  return options;
}

Buffer segment() { return tcp(kFlow).push().payload("data").build(); }

}  // namespace

TEST_CASE("ACT: an open connection of a former client is recovered, whoever sends") {
  NodeScript s(without_office());
  SUBCASE("the client") {
    const Datagram query = only_query(s.packet(Tap::stray, segment()));
    CHECK(query.to.address == address("10.0.0.1"));
    CHECK(kinds(answer(s, query, rs_to(query, kOpen))) == "send_flow");
  }
  SUBCASE("the server") {
    const Datagram query = only_query(s.packet(Tap::stray, tcp(kOpen.server_side.reversed()).push().payload("data").build()));
    CHECK(query.to.address == address("10.0.0.1"));
    CHECK(kinds(answer(s, query, rs_to(query, kOpen))) == "send_flow");
  }
  CHECK(s.flows.installed.at(0).tuples == kOpen);
}

TEST_CASE("ACT: for a former client nothing is begun: no SYN, no datagram, no echo, no segment in mid-stream") {
  NodeScript s(without_office());
  CHECK(kinds(s.packet(Tap::first, tcp(kFlow).syn().build())) == "drop");
  CHECK(kinds(s.packet(Tap::stray, udp(kUdpFlow).payload("data").build())) == "drop");
  CHECK(kinds(s.packet(Tap::stray, echo(echo_tuple("10.0.0.1:77", "198.51.100.1")).build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 3);
  const Datagram query = only_query(s.packet(Tap::stray, segment()));
  CHECK(answer(s, query, rx_to(query)).empty());
  CHECK(s.counter(NodeCounter::drops_no_range) == 4);
  CHECK(kinds(s.packet(Tap::stray, with_inline(segment(), hello(Protocol::tcp, 9)))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 5);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("ACT: a former client without a holder is not asked again, and one that speaks is") {
  NodeScript s(without_office());
  const Datagram query = only_query(s.packet(Tap::stray, segment()));
  s.port_unreachable(query);
  CHECK(s.counter(NodeCounter::clients_no_holder) == 1);
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop");
  CHECK(s.counter(NodeCounter::recoveries_started) == 1);
  s.flows.add(kOpen);
  CHECK(kinds(s.packet(Tap::known, with_inline(segment(), hello(Protocol::tcp, 9)))) == "send_own:NS replace");
  CHECK(s.counter(NodeCounter::clients_holder) == 1);
}

TEST_CASE("ACT: an RS about a former client's UDP session counts as RX: it would never end") {
  auto options = without_office();
  NodeScript s(options);
  const TuplePair udp_session{kUdpFlow, {{address(kOutsideAddress), 3000}, kUdpFlow.dst, Protocol::udp}};
  const Datagram query = only_query(s.packet(Tap::stray, udp(udp_session.server_side.reversed()).payload("data").build()));
  CHECK(answer(s, query, rs_to(query, udp_session)).empty());
  CHECK(s.flows.installed.empty());
  // While the client is one of ours, only in another range, it goes on.
  options.nat->ranges = nat_options().nat->ranges;
  options.nat->ranges.networks[0].first_port = 8192;
  NodeScript moved(options);
  const auto queries =
      datagrams(moved.packet(Tap::stray, udp(udp_session.server_side.reversed()).payload("data").build()), MsgType::QS);
  REQUIRE(queries.size() == 1);
  CHECK(kinds(answer(moved, queries[0], rs_to(queries[0], udp_session))) == "send_flow");
}
