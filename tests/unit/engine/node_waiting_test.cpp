// SPDX-License-Identifier: BSD-3-Clause
// NS until NA: repeated by time and by packets, ended by NA, given up after ten (decision 7).
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
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

struct Started {
  TuplePair pair;
  Datagram ns;
};

Started start(NodeScript& s) {
  const auto outs = s.packet(Tap::first, full_syn());
  REQUIRE(kinds(outs) == "send_own:NS accept");
  return {s.flows.installed.at(0).tuples, *datagram(outs[0])};
}

Buffer na_to(const Datagram& d) { return na(d.message.tuples()).cookie(d.message.cookie.value).build(); }

}  // namespace

TEST_CASE("NA ends it: the mark goes, and no further NS is sent [spec 4.3.4-3]") {
  NodeScript s(basic_options());
  const Started started = start(s);
  CHECK(s.message({started.ns.to.address, 51200}, kNode, na_to(started.ns)).empty());
  CHECK(s.flows.entry(started.pair.client_side)->mark == FlowMark::none);
  CHECK(s.counter(NodeCounter::sessions_acknowledged) == 1);
  CHECK(s.engine.gauges().waiting == 0);
  CHECK(s.advance(seconds(10)).empty());
  CHECK(kinds(s.packet(Tap::known, tcp(kClient, kVip).push().payload("x").build())) == "accept");
  // A second NA is an answer to nothing.
  s.message({started.ns.to.address, 51200}, kNode, na_to(started.ns));
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
}

TEST_CASE("without NA: one NS in 100 ms, ten in all, then unprotected") {
  NodeScript s(basic_options());
  const Started started = start(s);
  for (int i = 2; i <= 10; ++i) {
    CHECK(s.advance(milliseconds(99)).empty());
    const Datagram repeat = only_datagram(s.advance(milliseconds(1)), MsgType::NS);
    CHECK(repeat.payload == started.ns.payload);
    CHECK(repeat.to == started.ns.to);
  }
  CHECK(s.flows.entry(started.pair.client_side)->mark == FlowMark::waiting);
  CHECK(s.advance(milliseconds(100)).empty());
  CHECK(s.flows.entry(started.pair.client_side)->mark == FlowMark::unprotected);
  CHECK(s.counter(NodeCounter::sessions_unprotected) == 1);
  CHECK(s.events.count(EventKind::session_unprotected) == 1);
  CHECK(s.engine.gauges().waiting == 0);
  CHECK(s.advance(seconds(10)).empty());
}

TEST_CASE("packets within the interval send no NS of their own; when the timer is late they do") {
  NodeScript s(basic_options());
  start(s);
  const Buffer data = tcp(kClient, kVip).push().payload("x").build();
  for (int i = 0; i < 20; ++i) CHECK(kinds(s.packet(Tap::known, data)) == "accept");
  s.now += milliseconds(150);
  CHECK(kinds(s.packet(Tap::known, data)) == "send_own:NS accept");
  CHECK(kinds(s.packet(Tap::known, data)) == "accept");
  CHECK(s.counter(NodeCounter::sent_ns_standalone) == 2);
}

TEST_CASE("an NA that does not match is discarded [spec 4.3.2-3]") {
  NodeScript s(basic_options());
  const Started started = start(s);
  const Endpoint holder{started.ns.to.address, 51200};
  const Datagram& d = started.ns;
  TuplePair other = d.message.tuples();
  other.client_side.src.port++;
  TuplePair moved = d.message.tuples();
  moved.server_side.dst.port++;
  s.message(holder, kNode, na(d.message.tuples()).cookie(d.message.cookie.value + 1).build());
  CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
  s.message(endpoint("10.0.0.99:51200"), kNode, na_to(d));
  CHECK(s.counter(NodeCounter::discarded_address) == 1);
  s.message(holder, kNode, na(other).cookie(d.message.cookie.value).build());
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  s.message(holder, kNode, na(moved).cookie(d.message.cookie.value).build());
  CHECK(s.counter(NodeCounter::discarded_tuple) == 1);
  s.message(holder, "192.0.2.11", na_to(d));
  CHECK(s.counter(NodeCounter::discarded_not_local) == 1);
  CHECK(s.flows.entry(started.pair.client_side)->mark == FlowMark::waiting);
  CHECK(s.engine.gauges().waiting == 1);
}

TEST_CASE("too many waiting sessions: the next one gets its NS once, and is unprotected") {
  auto options = basic_options();
  options.limits.waiting_sessions = 1;
  NodeScript s(options);
  start(s);
  const Buffer other = tcp("203.0.113.8:1", kVip)
                           .syn()
                           .options("020405b40402080a0000000100000000010303072212000000000000000000000000000000000101")
                           .build();
  CHECK(kinds(s.packet(Tap::first, other)) == "send_own:NS accept");
  CHECK(s.flows.entry(tcp_tuple("203.0.113.8:1", kVip))->mark == FlowMark::unprotected);
  CHECK(s.counter(NodeCounter::limit_waiting) == 1);
  CHECK(s.engine.gauges().waiting == 1);
}
