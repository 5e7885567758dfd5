// SPDX-License-Identifier: BSD-3-Clause
// Entries of sessions whose end this node did not see, and whose port serves another client by now.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kServer = "10.0.0.2:8080";
constexpr const char* kNode = "192.0.2.10";

TuplePair old_session() { return {tcp_tuple("203.0.113.8:1", kVip), tcp_tuple("10.1.0.1:3000", kServer)}; }
TuplePair new_session() { return {tcp_tuple(kClient, kVip), tcp_tuple("10.1.0.1:3000", kServer)}; }
Buffer syn_ack() { return tcp(kServer, "10.1.0.1:3000").syn_ack().options("020405b4").build(); }
Buffer good_ps(const TuplePair& pair) { return ps_of(pair, key_of(0x22)); }

}  // namespace

TEST_CASE("a PS of the same server replaces an outdated entry, and its packet goes to the new client") {
  NodeScript s(full_nat_options());
  s.flows.add(old_session());
  const auto outs = s.packet(Tap::known, with_inline(syn_ack(), good_ps(new_session())));
  REQUIRE(kinds(outs) == "drop send_flow");
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == new_session());
  CHECK(s.counter(NodeCounter::sessions_outdated) == 1);
  CHECK(s.counter(NodeCounter::sessions_restored_ps) == 1);
}

TEST_CASE("a separate PS replaces an outdated entry and ends here") {
  NodeScript s(full_nat_options());
  s.flows.add(old_session());
  const Buffer data = tcp(kServer, "10.1.0.1:3000").push().payload("x").build();
  CHECK(kinds(s.packet(Tap::known, separate(data, good_ps(new_session())))) == "drop");
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == new_session());
}

TEST_CASE("a PS whose cookie is wrong replaces nothing [spec 4.3.2-6]") {
  NodeScript s(full_nat_options());
  s.flows.add(old_session());
  CHECK(kinds(s.packet(Tap::known, with_inline(syn_ack(), ps_of(new_session(), key_of(0x44))))) == "replace");
  CHECK(s.flows.entries.at(0).tuples == old_session());
  CHECK(s.counter(NodeCounter::sessions_outdated) == 0);
}

TEST_CASE("an RS of the same server replaces what is outdated, on one side or on both") {
  NodeScript s(full_nat_options());
  const auto asked = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto q = datagram(asked.at(1));
  const Endpoint server{q->to.address, 8080};
  const TuplePair told{tcp_tuple(kClient, kVip), {endpoint("10.1.0.1:3000"), server, Protocol::tcp}};
  // One has the server-side tuple, one the client-side one.
  s.flows.add({tcp_tuple("203.0.113.8:1", kVip), told.server_side});
  SUBCASE("one") {}
  SUBCASE("both") { s.flows.add({told.client_side, {endpoint("10.1.0.1:4000"), server, Protocol::tcp}}); }
  const std::size_t outdated = s.flows.entries.size();
  CHECK(kinds(s.message(answer_from(*q), kNode, rs_to(*q, told))) == "send_flow");
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == told);
  CHECK(s.counter(NodeCounter::sessions_outdated) == outdated);
}

TEST_CASE("an RS replaces no entry of another server than the one that was asked [spec 5-3]") {
  NodeScript s(full_nat_options());
  const auto asked = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto q = datagram(asked.at(1));
  const Endpoint elsewhere{datagram(asked.at(2))->to.address, 8080};
  const TuplePair told{tcp_tuple(kClient, kVip), {endpoint("10.1.0.1:3000"), elsewhere, Protocol::tcp}};
  const TuplePair there{tcp_tuple("203.0.113.8:1", kVip), told.server_side};
  s.flows.add(there);
  CHECK(s.message(answer_from(*q), kNode, rs_to(*q, told)).empty());
  s.advance(seconds(1));
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == there);
  CHECK(s.counter(NodeCounter::sessions_outdated) == 0);
  CHECK(s.counter(NodeCounter::discarded_elsewhere) == 1);
}

TEST_CASE("an RS does not replace the session that this node has just made, nor one that waits for its NA") {
  for (const bool waiting : {false, true}) {
    NodeScript s(full_nat_options());
    const auto asked = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
    const auto q = datagram(asked.at(1));
    const Endpoint server{q->to.address, 8080};
    TuplePair there{tcp_tuple("203.0.113.8:1", kVip), {endpoint("10.1.0.1:3000"), server, Protocol::tcp}};
    if (waiting) {
      s.flows.add(there, engine::FlowMark::waiting);
    } else {
      s.packet(Tap::first, tcp("203.0.113.8:1", kVip).syn().build());
      there = s.flows.installed.back().tuples;
      if (there.server_side.dst != server) continue;  // placed at the other candidate: nothing to clash with
    }
    const TuplePair told{tcp_tuple(kClient, kVip), there.server_side};
    CHECK(s.message(answer_from(*q), kNode, rs_to(*q, told)).empty());
    CHECK(s.flows.entries.at(0).tuples == there);
    CHECK(s.counter(NodeCounter::drops_conflict) == 1);
    CHECK(s.counter(NodeCounter::sessions_outdated) == 0);
  }
}

TEST_CASE("what a PS told of a moment ago gives way to the next PS of the same server") {
  NodeScript s(full_nat_options());
  s.packet(Tap::stray, with_inline(syn_ack(), good_ps(old_session())));
  REQUIRE(s.flows.entries.at(0).tuples == old_session());
  CHECK(kinds(s.packet(Tap::known, with_inline(syn_ack(), good_ps(new_session())))) == "drop send_flow");
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == new_session());
  CHECK(s.counter(NodeCounter::drops_conflict) == 0);
}

TEST_CASE("a session made here a moment ago gives way once it is closing, and not before") {
  for (const bool closing : {false, true}) {
    CAPTURE(closing);
    NodeScript s(full_nat_options());
    s.packet(Tap::first, tcp("203.0.113.8:1", kVip).syn().build());
    auto& entry = s.flows.entries.at(0);
    entry.closing = closing;
    const TuplePair made = entry.tuples;
    const TuplePair told{tcp_tuple(kClient, kVip), made.server_side};
    const Buffer answer = tcp(made.server_side.dst.to_string(), made.server_side.src.to_string()).syn_ack().build();
    const auto outs = s.packet(Tap::known, with_inline(answer, good_ps(told)));
    CHECK(kinds(outs) == (closing ? "drop send_flow" : "drop"));
    CHECK(s.flows.entries.at(0).tuples == (closing ? told : made));
  }
}
