// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: what explain() says is what is done then.
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Explanation;
using engine::Step;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);

Explanation told(const NodeScript& s, const Tuple& packet, bool begins = false) {
  return s.engine.explain(s.now, packet, begins);
}

}  // namespace

TEST_CASE("ACT: a first packet: the client's range, and the port that it gets") {
  NodeScript s(nat_options());
  Explanation e = told(s, kFlow, true);
  CHECK(e.step == Step::create);
  CHECK(e.service.empty());
  REQUIRE(e.client);
  CHECK(e.client->address == address("10.0.0.1"));
  REQUIRE(e.client->range);
  CHECK(e.client->range->first_port == 2048);
  CHECK(e.client->range->last_port == 3071);
  CHECK(e.mapping == act_session(kFlow).server_side.src);
  CHECK(e.candidates.empty());
  s.packet(Tap::first, tcp(kFlow).syn().build());
  CHECK(s.flows.installed.at(0).tuples.server_side.src == *e.mapping);
  // And then.
  CHECK(told(s, kFlow, true).step == Step::again);
  CHECK(told(s, kFlow).step == Step::known);
  CHECK(told(s, act_session(kFlow).server_side.reversed()).step == Step::known);
}

TEST_CASE("ACT: after ranges have moved it says whose endpoint it was") {
  auto options = nat_options();
  options.nat->past_ranges = {options.nat->ranges};
  options.nat->ranges.networks[0].first_port = 2048;
  NodeScript s(options);
  const Explanation e = told(s, act_session_at(kFlow, 3000).server_side.reversed());
  REQUIRE(e.candidates.size() == 2);
  CHECK(e.candidates[0].address.address == address("10.0.0.0"));
  CHECK(e.candidates[1].address.address == address("10.0.0.1"));
  CHECK(e.candidates[0].reason != e.candidates[1].reason);
}
