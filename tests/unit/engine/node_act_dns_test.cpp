// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: sessions of DNS give their ports back soon (RFC 4787 REQ-5a).
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr const char* kResolver = "198.51.100.1:53";
constexpr std::uint32_t kUdpTimeout = 300;

/// A client's question, from a port of its own.
Buffer question(std::uint16_t port) {
  Buffer dns(12);
  dns[2] = 1;  // a query, recursion wanted
  dns[5] = 1;  // one question
  dns.insert(dns.end(), {1, 'a', 0, 0, 1, 0, 1});
  return udp({{address("10.0.0.1"), port}, endpoint(kResolver), Protocol::udp}).payload(dns).build();
}

void set_left(NodeScript& s, std::uint32_t seconds) {
  for (auto& entry : s.flows.entries) entry.left = seconds;
}

}  // namespace

TEST_CASE("ACT: a session of DNS ends when no packet has come between two looks") {
  NodeScript s(nat_options());
  s.packet(Tap::stray, question(5000));
  REQUIRE(s.flows.entries.size() == 1);
  set_left(s, kUdpTimeout - 5);  // the answer came at once
  s.advance(seconds(5));
  CHECK(s.flows.entries.size() == 1);
  set_left(s, kUdpTimeout - 10);
  s.advance(seconds(5));
  CHECK(s.flows.entries.empty());
  CHECK(s.counter(NodeCounter::sessions_dns_ended) == 1);
  s.advance(seconds(60));
  CHECK(s.counter(NodeCounter::sessions_dns_ended) == 1);
}

TEST_CASE("ACT: one over which questions keep going stays") {
  NodeScript s(nat_options());
  s.packet(Tap::stray, question(5000));
  for (int look = 0; look < 20; ++look) {
    set_left(s, kUdpTimeout - 3);  // the last packet came two seconds behind the last look
    s.advance(seconds(5));
  }
  CHECK(s.flows.entries.size() == 1);
  set_left(s, kUdpTimeout - 8);
  s.advance(seconds(5));
  CHECK(s.flows.entries.empty());
}

TEST_CASE("ACT: flows with other ports, and connections with port 53, end as their table has it") {
  NodeScript s(nat_options());
  s.flows.add(act_session({{address("10.0.0.1"), 5000}, endpoint("198.51.100.1:443"), Protocol::udp}));
  s.packet(Tap::first, tcp({{address("10.0.0.1"), 5001}, endpoint(kResolver), Protocol::tcp}).syn().build());
  REQUIRE(s.flows.entries.size() == 2);
  set_left(s, 100);
  s.advance(seconds(60));
  CHECK(s.flows.entries.size() == 2);
}

TEST_CASE("ACT: a session that has ended by itself, or was made anew with another port, is left alone") {
  NodeScript s(nat_options());
  s.packet(Tap::stray, question(5000));
  s.packet(Tap::stray, question(5001));
  REQUIRE(s.flows.entries.size() == 2);
  s.flows.entries.erase(s.flows.entries.begin());
  s.flows.entries[0].tuples.server_side.src.port ^= 1;
  s.advance(seconds(60));
  CHECK(s.flows.entries.size() == 1);
  CHECK(s.counter(NodeCounter::sessions_dns_ended) == 0);
}

TEST_CASE("ACT: a client that asks all the time has ports left: each is used again") {
  NodeScript s(nat_options());
  for (std::uint16_t port = 5000; port < 5640; ++port) {  // ten times the ports of the slice, one each half second
    CHECK_MESSAGE(kinds(s.packet(Tap::stray, question(port))) == "drop send_flow", port);
    for (auto& entry : s.flows.entries) entry.left = entry.left ? *entry.left - 1 : kUdpTimeout;
    s.advance(milliseconds(500));
  }
  CHECK(s.counter(NodeCounter::drops_exhausted) == 0);
  CHECK(s.flows.entries.size() < 64);
}
