// SPDX-License-Identifier: BSD-3-Clause
// Decisions that depend on what is in flight, seen through explain(), which the taps share them with.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Step;

namespace {

constexpr const char* kClient = "203.0.113.7:5000";

Step step_of(NodeScript& s, const Tuple& flow, bool begins) { return s.engine.explain(s.now, flow, begins).step; }

}  // namespace

TEST_CASE("within a burst a second packet of the flow joins the first") {
  NodeScript s(basic_options());
  const Tuple flow = tcp_tuple(kClient, "198.51.100.1:80");
  s.begin_burst();
  s.packet(Tap::first, tcp(kClient, "198.51.100.1:80").syn().build());
  CHECK(step_of(s, flow, true) == Step::join_install);
  CHECK(step_of(s, flow, false) == Step::join_install);
  s.end_burst();
  CHECK(step_of(s, flow, true) == Step::again);
}

TEST_CASE("a packet that was queued before its session came is sent behind it, for 50 ms") {
  NodeScript s(udp_options(engine::ExplicitFirst::any));
  const Tuple flow{endpoint(kClient), endpoint("198.51.100.1:53"), Protocol::udp};
  s.packet(Tap::stray, udp(kClient, "198.51.100.1:53").payload(hex("41")).build());
  REQUIRE(s.flows.entries.size() == 1);
  s.flows.entries.clear();  // or the answer would be `known`
  s.advance(milliseconds(50));
  CHECK(step_of(s, flow, true) == Step::send_behind);
  s.advance(milliseconds(1));
  CHECK(step_of(s, flow, true) == Step::create);
}

TEST_CASE("a SYN doesn't join a recovery that a segment of its flow began") {
  NodeScript s(basic_options());
  const Tuple flow = tcp_tuple(kClient, "198.51.100.1:80");
  s.packet(Tap::stray, tcp(kClient, "198.51.100.1:80").seq(5).payload(hex("41")).build());
  CHECK(step_of(s, flow, false) == Step::join_recovery);
  CHECK(step_of(s, flow, true) == Step::create);
}

TEST_CASE("explicit datagrams in a region with a new owner are asked about, for two minutes (decision 14)") {
  auto options = udp_options(engine::ExplicitFirst::any);
  NodeScript s(options);
  s.reconfigure(with_another_key(options));
  int in_doubt = 0;
  for (std::uint16_t port = 1; port < 60; ++port) {
    const Tuple flow{{address("203.0.113.7"), port}, endpoint("198.51.100.1:53"), Protocol::udp};
    const auto told = s.engine.explain(s.now, flow, true);
    CHECK(told.step == (told.owner_changed ? Step::ask_candidates : Step::create));
    in_doubt += told.owner_changed;
  }
  CHECK(in_doubt > 20);
  CHECK(in_doubt < 60);
  s.advance(seconds(121));
  for (std::uint16_t port = 1; port < 60; ++port) {
    const Tuple flow{{address("203.0.113.7"), port}, endpoint("198.51.100.1:53"), Protocol::udp};
    CHECK(step_of(s, flow, true) == Step::create);
  }
}
