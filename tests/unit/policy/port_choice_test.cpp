// SPDX-License-Identifier: BSD-3-Clause
// Golden vectors are from an independent implementation; they must never change.
#include "asrp/policy/port_choice.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <set>
#include <string>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

PortChoice gateway(unsigned slice, unsigned slices = 16) { return {.key = counting_key(), .slices = slices, .slice = slice}; }

PortRange range(const char* outside, std::uint16_t first, std::uint16_t last) { return {address(outside), first, last}; }

const PortRange kRange = range("203.0.113.8", 2048, 3071);
const Tuple kWeb = tcp_tuple("10.0.0.7:50001", "198.51.100.1:443");
const Tuple kQuic = udp_tuple("10.0.0.7:50001", "198.51.100.1:443");

/// The first four ports tried.
std::string tries(const PortRange& r, const PortChoice& choice, PortUse use, const Tuple& tuple, std::size_t from = 0) {
  std::string text;
  for (std::size_t i = from; i < from + 4; ++i) {
    const auto port = choose_port(r, choice, use, tuple, i);
    text += (text.empty() ? "" : " ") + (port ? std::to_string(port->port) : std::string("none"));
  }
  return text;
}

/// All ports tried, each of which must be another one.
std::set<std::uint16_t> all_tries(const PortRange& r, const PortChoice& choice, const Tuple& tuple,
                                  PortUse use = PortUse::session) {
  std::set<std::uint16_t> ports;
  for (std::size_t i = 0;; ++i) {
    const auto port = choose_port(r, choice, use, tuple, i);
    if (!port) return ports;
    CHECK(port->address == r.outside);
    CHECK(ports.insert(port->port).second);
  }
}

std::set<std::uint16_t> ports_of(const PortRange& r) {
  std::set<std::uint16_t> ports;
  for (std::uint32_t p = r.first_port; p <= r.last_port; ++p) ports.insert(static_cast<std::uint16_t>(p));
  return ports;
}

}  // namespace

TEST_CASE("golden: ports by hash and stride") {
  const PortChoice third = gateway(3);
  CHECK(tries(kRange, third, PortUse::session, kWeb) == "2260 2291 2258 2289");
  CHECK(tries(kRange, third, PortUse::session, kQuic) == "2291 2300 2245 2254");
  CHECK(tries(kRange, gateway(0), PortUse::session, kWeb) == "2068 2099 2066 2097");
  CHECK(tries(kRange, gateway(15), PortUse::session, kWeb) == "3028 3059 3026 3057");
  CHECK(tries(range("203.0.113.8", 1000, 1099), gateway(6, 7), PortUse::session, kWeb) == "1097 1086 1090 1094");
  const Tuple six = tcp_tuple("[fd00::7]:50001", "[2001:db8::1]:443");
  CHECK(tries(range("2001:db8:ff::1", 2048, 3071), third, PortUse::session, six) == "2297 2244 2255 2266");
  PortChoice even = third;
  even.keep_parity = true;
  CHECK(tries(kRange, even, PortUse::session, kQuic) == "2279 2297 2251 2269");
  CHECK(tries(kRange, even, PortUse::session, kQuic, 32) == "2278 2296 2250 2268");
  PortChoice careful = gateway(1);
  careful.reserved = 51200;
  CHECK(tries(range("203.0.113.8", 51136, 52159), careful, PortUse::session, kQuic) == "51261 51227 51256 51222");
}

TEST_CASE("endpoint-independent mapping: the same first port towards all servers; per session: another one") {
  const Tuple other = udp_tuple("10.0.0.7:50001", "192.0.2.9:53");
  CHECK(tries(kRange, gateway(3), PortUse::endpoint, kQuic) == "2289 2284 2279 2274");
  CHECK(tries(kRange, gateway(3), PortUse::endpoint, other) == "2289 2284 2279 2274");
  CHECK(tries(kRange, gateway(3), PortUse::session, other) != tries(kRange, gateway(3), PortUse::session, kQuic));
  const Tuple other_port = udp_tuple("10.0.0.7:50002", "192.0.2.9:53");
  CHECK(tries(kRange, gateway(3), PortUse::endpoint, other_port) != "2289 2284 2279 2274");
  const Tuple six = udp_tuple("[fd00::7]:50001", "[2001:db8::1]:443");
  CHECK(tries(range("2001:db8:ff::1", 2048, 3071), gateway(3), PortUse::endpoint, six) == "2275 2274 2273 2272");
}

TEST_CASE("slices divide a range without a gap, and differ by a port at most") {
  for (const std::uint32_t size : {1u, 2u, 15u, 16u, 17u, 100u, 1024u, 64512u, 65535u}) {
    for (const unsigned slices : {1u, 2u, 7u, 16u, 256u}) {
      if (size < slices) continue;
      CAPTURE(size);
      CAPTURE(slices);
      const PortRange whole = range("203.0.113.8", static_cast<std::uint16_t>(65536 - size), 65535);
      std::uint32_t next = whole.first_port;
      for (unsigned i = 0; i < slices; ++i) {
        const PortRange part = slice_of(whole, i, slices);
        CHECK(part.first_port == next);
        CHECK((part.size() == size / slices || part.size() == size / slices + 1));
        next += part.size();
      }
      CHECK(next == 65536);
    }
  }
}

TEST_CASE("a gateway tries each port of its slice once, and no other") {
  for (const std::uint16_t last : std::initializer_list<std::uint16_t>{2063, 2064, 2099, 3071}) {
    const PortRange r = range("203.0.113.8", 2048, last);
    for (const unsigned slice : {0u, 7u, 15u}) {
      CAPTURE(last);
      CAPTURE(slice);
      for (std::uint16_t client = 1; client < 50; ++client) {
        const Tuple t{{address("10.0.0.7"), client}, endpoint("198.51.100.1:443"), Protocol::tcp};
        const std::set<std::uint16_t> own = ports_of(slice_of(r, slice, 16));
        CHECK(all_tries(r, gateway(slice), t) == own);
        PortChoice even = gateway(slice);
        even.keep_parity = true;
        CHECK(all_tries(r, even, t) == own);
      }
    }
  }
}

TEST_CASE("two gateways never choose the same port, whatever their flows") {
  std::set<std::uint16_t> seen;
  std::size_t ports = 0;
  for (unsigned slice = 0; slice < 16; ++slice) {
    for (const std::uint16_t port : all_tries(kRange, gateway(slice), kWeb)) {
      seen.insert(port);
      ++ports;
    }
  }
  CHECK(ports == seen.size());
  CHECK(seen == ports_of(kRange));
}

TEST_CASE("parity is kept while there are ports of it, whichever parity the slice begins with") {
  PortChoice choice = gateway(3);
  choice.keep_parity = true;
  for (const PortRange& r : {kRange, range("203.0.113.8", 2049, 3072)}) {
    CAPTURE(r.first_port);
    for (std::uint16_t client = 1; client < 200; ++client) {
      const Tuple t{{address("10.0.0.7"), client}, endpoint("198.51.100.1:443"), Protocol::udp};
      for (std::size_t i = 0; i < 64; ++i) {
        const auto port = choose_port(r, choice, PortUse::endpoint, t, i);
        REQUIRE(port);
        CHECK(((port->port ^ client) & 1) == (i < 32 ? 0 : 1));
      }
    }
  }
}

TEST_CASE("the reserved port is never chosen: first, last, amid, alone, elsewhere") {
  for (const bool parity : {false, true}) {
    for (const std::uint16_t reserved : std::initializer_list<std::uint16_t>{2048, 2049, 2080, 2110, 2111, 2112}) {
      PortChoice choice = gateway(0);
      choice.reserved = reserved;
      choice.keep_parity = parity;
      std::set<std::uint16_t> own = ports_of(slice_of(kRange, 0, 16));
      own.erase(reserved);
      CHECK(all_tries(kRange, choice, kWeb) == own);
      CHECK(all_tries(kRange, choice, tcp_tuple("10.0.0.7:50000", "198.51.100.1:443")) == own);
    }
    PortChoice alone = gateway(0, 1);
    alone.keep_parity = parity;
    alone.reserved = 51200;
    CHECK(all_tries(range("203.0.113.8", 51200, 51200), alone, kWeb).empty());
    alone.reserved = 0;
    CHECK(all_tries(range("203.0.113.8", 51200, 51200), alone, kWeb).size() == 1);
  }
}

TEST_CASE("without the key ports can't be foretold, with it each session has its own row of tries") {
  std::set<std::uint16_t> firsts;
  std::set<std::string> rows;
  PortChoice other = gateway(3);
  other.key[0] = 1;
  std::size_t same = 0;
  for (std::uint16_t client = 1; client <= 512; ++client) {
    const Tuple t{{address("10.0.0.7"), client}, endpoint("198.51.100.1:443"), Protocol::tcp};
    const auto port = choose_port(kRange, gateway(3), PortUse::session, t, 0);
    REQUIRE(port);
    firsts.insert(port->port);
    rows.insert(tries(kRange, gateway(3), PortUse::session, t));
    same += port == choose_port(kRange, other, PortUse::session, t, 0) ? 1 : 0;
  }
  CHECK(firsts.size() == 64);  // the whole slice
  CHECK(rows.size() > 400);
  CHECK(same < 32);  // 8 by chance
}

TEST_CASE("a range that keeps ports has one try: the client's own") {
  PortRange whole{address("2001:db8:77::7")};
  whole.keeps_port = true;
  const Tuple t = tcp_tuple("[fd00::7]:50001", "[2001:db8::1]:443");
  CHECK(choose_port(whole, gateway(3), PortUse::session, t, 0) == endpoint("[2001:db8:77::7]:50001"));
  CHECK(choose_port(whole, gateway(5), PortUse::endpoint, t, 0) == endpoint("[2001:db8:77::7]:50001"));
  CHECK_FALSE(choose_port(whole, gateway(3), PortUse::session, t, 1));
}
