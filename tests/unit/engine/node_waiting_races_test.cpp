// SPDX-License-Identifier: BSD-3-Clause
// A session that waits for its NA is replaced by another one of the same client tuple.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

/// A SYN whose options are full: its NS goes apart.
Buffer full_syn() {
  return tcp(kClient, kVip)
      .syn()
      .options("020405b40402080a0000000100000000010303072212000000000000000000000000000000000101")
      .build();
}

engine::NodeOptions only(const std::string& id, std::string_view at) {
  auto options = basic_options();
  for (engine::Backend& b : options.services[0].backends) b.state = engine::BackendState::joining;
  for (engine::Backend& b : options.services[0].backends) {
    if (b.id == id) CHECK(b.address == endpoint(at));
    if (b.id == id) b.state = engine::BackendState::active;
  }
  return options;
}

}  // namespace

TEST_CASE("the NS that is repeated is that of the session that is there (decision 7)") {
  NodeScript s(only("s1", "10.0.0.1:8080"));
  REQUIRE(kinds(s.packet(Tap::first, full_syn())) == "send_own:NS accept");
  REQUIRE(s.flows.entries.at(0).tuples.server_side.dst == endpoint("10.0.0.1:8080"));
  s.reconfigure(only("s2", "10.0.0.2:8080"));
  s.flows.entries.clear();  // somebody flushed the table
  s.flows.installed.clear();
  const auto outs = s.packet(Tap::first, full_syn());
  REQUIRE(kinds(outs) == "send_own:NS accept");
  const auto ns = datagram(outs[0]);
  CHECK(ns->message.st2.dst == endpoint("10.0.0.2:8080"));
  const Datagram repeat = only_datagram(s.advance(milliseconds(100)), MsgType::NS);
  CHECK(repeat.message.st2.dst == endpoint("10.0.0.2:8080"));
  s.message({address("10.0.0.2"), 51200}, kNode, na(ns->message.tuples()).cookie(ns->message.cookie.value).build());
  CHECK(s.engine.gauges().waiting == 0);
  CHECK(s.flows.entries.at(0).mark == FlowMark::none);
  CHECK(s.advance(seconds(2)).empty());
}

TEST_CASE("a session that was restored with another mapping waits for nothing") {
  NodeScript s(only("s1", "10.0.0.1:8080"));
  s.packet(Tap::first, full_syn());
  s.flows.entries.clear();
  s.flows.installed.clear();
  const TuplePair older{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.3:8080")};
  const Buffer packet = tcp("10.0.0.3:8080", kClient).push().payload("x").build();
  CHECK(kinds(s.packet(Tap::stray, with_inline(packet, ps_of(older, key_of(0x22))))) == "drop send_flow");
  CHECK(s.engine.gauges().waiting == 0);
  CHECK(s.advance(seconds(2)).empty());
  CHECK(s.flows.entries.at(0).mark == FlowMark::none);
}
