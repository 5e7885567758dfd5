// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: what is done with a packet without a session, as explain() tells it.
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Explanation;
using engine::NatNoSession;
using engine::Step;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);
const Tuple kUdpFlow = udp_tuple(kInside, "198.51.100.1:9000");

Explanation told(const NodeScript& s, const Tuple& packet, bool begins = false) {
  return s.engine.explain(s.now, packet, begins);
}

}  // namespace

TEST_CASE("ACT: without a session the client is asked, or why not") {
  NodeScript s(nat_options());
  Explanation e = told(s, kFlow);
  CHECK(e.step == Step::ask_client);
  REQUIRE(e.candidates.size() == 1);
  CHECK(e.candidates[0].address == endpoint("10.0.0.1:51200"));
  CHECK(e.candidates[0].round == 1);
  const Tuple back = act_session_at(kFlow, 3000).server_side.reversed();
  e = told(s, back);
  CHECK(e.step == Step::ask_client);
  REQUIRE(e.candidates.size() == 1);
  CHECK(e.candidates[0].address.address == address("10.0.0.1"));
  CHECK(told(s, back, true).step == Step::outside_syn);
  const Datagram query = only_query(s.packet(Tap::stray, tcp(kFlow).push().payload("x").build()));
  CHECK(told(s, kFlow).step == Step::join_recovery);
  s.port_unreachable(query);
  s.advance(seconds(1));
  CHECK(told(s, back).step == Step::no_holder);
  CHECK(told(s, back).client->has_no_holder);
  CHECK(told(s, kUdpFlow).step == Step::create);
  const Tuple segment = tcp_tuple("10.0.0.1:5001", kFar);
  CHECK(told(s, segment).step == Step::create);
  auto options = nat_options();
  options.nat->no_session = NatNoSession::reset;
  s.reconfigure(options);
  CHECK(told(s, segment).step == Step::reset);
  options.nat->no_session = NatNoSession::drop;
  s.reconfigure(options);
  CHECK(told(s, segment).step == Step::drop_midstream);
  CHECK(told(s, tcp_tuple("10.0.0.1:5001", "203.0.113.8:3100"), true).step == Step::no_mapping);
  CHECK(told(s, tcp_tuple("10.0.9.1:5001", kFar), true).step == Step::no_service);
  CHECK_FALSE(told(s, tcp_tuple("10.0.9.1:5001", kFar), true).client);
}

TEST_CASE("ACT: the bounds are told") {
  auto options = nat_options();
  options.nat->outside_queries = 1;
  NodeScript s(options);
  const Tuple back = act_session_at(kFlow, 3000).server_side.reversed();
  s.packet(Tap::stray, tcp(back).push().payload("x").build());
  CHECK(told(s, act_session_at(kFlow, 3001).server_side.reversed()).step == Step::over_rate);
  s.engine.set_table_pressure(true);
  CHECK(told(s, kFlow, true).step == Step::refuse);
  s.engine.set_table_pressure(false);
  for (std::uint16_t port = 1; port <= 65; ++port) {
    s.packet(Tap::first, tcp({address("10.0.0.1"), port}, endpoint(kFar)).syn().build());
  }
  CHECK(s.counter(NodeCounter::drops_exhausted) == 1);
  CHECK(told(s, kFlow, true).step == Step::exhausted);
}
