// SPDX-License-Identifier: BSD-3-Clause
// SYN/ACKs of servers that carry a message, at the raw tap: they go on themselves, with the session that their PS proves.
#include <algorithm>

#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kServer = "10.0.0.2:8080";

TuplePair session() { return {tcp_tuple(kClient, kVip), tcp_tuple(kClient, kServer)}; }
Buffer syn_ack() { return tcp(kServer, kClient).syn_ack().options("020405b4").build(); }
Buffer good_ps(const TuplePair& pair) { return ps_of(pair, key_of(0x22)); }

}  // namespace

TEST_CASE("a SYN/ACK with PS goes on itself, without the PS, behind the session that it proves [spec 4.3.10-1, 4.3.10-2]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::first, with_inline(syn_ack(), good_ps(session())));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == syn_ack());  // the kernel decrements the TTL
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed[0].tuples == session());
  CHECK(s.flows.installed[0].proven);
  CHECK(s.counter(NodeCounter::sessions_restored_ps) == 1);
  CHECK(s.counter(NodeCounter::received_ps) == 1);
}

TEST_CASE("the same again, or where this node made the session a moment ago: nothing is installed twice") {
  NodeScript s(full_nat_options());
  s.packet(Tap::first, tcp(kClient, kVip).syn().build());
  REQUIRE(s.flows.installed.size() == 1);
  const TuplePair made = s.flows.installed[0].tuples;
  const Buffer plain = tcp(made.server_side.reversed()).syn_ack().build();
  for (int i = 0; i < 2; ++i) {
    const auto outs = s.packet(Tap::first, with_inline(plain, good_ps(made)));
    REQUIRE(kinds(outs) == "replace");
    CHECK(outs[0].octets == plain);
  }
  CHECK(s.flows.installed.size() == 1);
  s.advance(seconds(2));
  CHECK(kinds(s.packet(Tap::first, with_inline(plain, good_ps(made)))) == "replace");  // EEXIST: the same session
  CHECK(s.flows.entries.size() == 1);
}

TEST_CASE("one burst, one session: a repeated SYN/ACK joins it; one that proves another session is dropped") {
  NodeScript s(full_nat_options());
  const TuplePair one{tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:2000", kServer)};
  const TuplePair other{tcp_tuple("203.0.113.8:1", kVip), one.server_side};
  const Buffer plain = tcp(one.server_side.reversed()).syn_ack().build();
  s.begin_burst();
  s.packet(Tap::first, with_inline(plain, good_ps(one)));
  s.packet(Tap::first, with_inline(plain, good_ps(one)));
  s.packet(Tap::first, with_inline(plain, good_ps(other)));
  const auto outs = s.end_burst();
  CHECK(s.flows.installed.size() == 1);
  CHECK(std::count_if(outs.begin(), outs.end(), [](const Out& o) { return o.kind == OutputKind::replace; }) == 2);
  CHECK(std::count_if(outs.begin(), outs.end(), [](const Out& o) { return o.kind == OutputKind::drop; }) == 1);
  CHECK(s.counter(NodeCounter::drops_conflict) == 1);
}

TEST_CASE("a PS that does not verify is taken out, and the taps behind conntrack have the packet [spec 4.3.2-6, 5-1]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::first, with_inline(syn_ack(), ps_of(session(), key_of(0x33))));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == syn_ack());
  CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("a foreign option passes; a session that cannot be installed takes its packet along") {
  NodeScript s(basic_options());
  CHECK(kinds(s.packet(Tap::first, tcp(kServer, kClient).syn_ack().options("fd04ffff").build())) == "accept");
  s.flows.failing = true;
  CHECK(kinds(s.packet(Tap::first, with_inline(syn_ack(), good_ps(session())))) == "drop");
  CHECK(s.counter(NodeCounter::drops_install) == 1);
}

TEST_CASE("a recovery that waits for an answer ends with the PS, and what it held goes too") {
  NodeScript s(basic_options());
  const Buffer data = tcp(kServer, kClient).push().payload("held").build();
  s.packet(Tap::stray, data);
  const auto outs = s.packet(Tap::first, with_inline(syn_ack(), good_ps(session())));
  CHECK(s.engine.gauges().recoveries == 0);
  REQUIRE(kinds(outs) == "send_flow replace");
  CHECK(outs[0].octets == forwarded(data));
}
