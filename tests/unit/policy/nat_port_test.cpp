// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/nat_port.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <set>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

TEST_CASE("mappings are those of an independent implementation, whatever the order of the addresses") {
  const NatRange a(counting_key(), {address("10.1.0.1"), address("10.1.0.2")}, 1024, 65535);
  const NatRange b(counting_key(), {address("10.1.0.2"), address("10.1.0.1"), address("10.1.0.1")}, 1024, 65535);
  const Tuple web = tcp_tuple("203.0.113.7:50000", "198.51.100.1:80");
  CHECK(a.at(web, 0) == endpoint("10.1.0.2:36611"));
  CHECK(a.at(web, 1) == endpoint("10.1.0.1:21450"));
  CHECK(a.at(web, 2) == endpoint("10.1.0.2:6289"));
  CHECK(a.at(udp_tuple("203.0.113.7:50000", "198.51.100.1:80"), 0) == endpoint("10.1.0.1:13182"));
  CHECK(a.at(udp_tuple("192.0.2.1:1", "192.0.2.2:53"), 1) == endpoint("10.1.0.2:38234"));
  for (std::uint16_t port = 1; port < 1000; ++port) {
    const Tuple t{{address("203.0.113.7"), port}, endpoint("198.51.100.1:80"), Protocol::tcp};
    CHECK(a.at(t, 0) == b.at(t, 0));
    CHECK(a.contains(a.at(t, 0)));
  }
}

TEST_CASE("probing visits every mapping of the range once before it begins again") {
  const NatRange range(HashKey{}, {address("10.1.0.1"), address("10.1.0.2")}, 2000, 2009);
  const Tuple t = tcp_tuple("203.0.113.7:50000", "198.51.100.1:80");
  std::set<Endpoint> seen;
  for (std::size_t i = 0; i < 20; ++i) CHECK(seen.insert(range.at(t, i)).second);
  CHECK(range.at(t, 20) == range.at(t, 0));
}

TEST_CASE("half of a small range is taken: eight tries find a free mapping but for one flow in 256, give or take") {
  const NatRange range(counting_key(), {address("10.1.0.1")}, 2000, 2399);
  std::set<Endpoint> taken;
  std::uint16_t client = 1;
  const auto tries_of = [&](std::uint16_t port) {
    const Tuple t{{address("203.0.113.7"), port}, endpoint("198.51.100.1:80"), Protocol::tcp};
    for (std::size_t i = 0; i < 8; ++i) {
      if (taken.count(range.at(t, i)) == 0) return std::optional(range.at(t, i));
    }
    return std::optional<Endpoint>();
  };
  while (taken.size() < 200) {
    if (const auto free = tries_of(client++)) taken.insert(*free);
  }
  std::size_t refused = 0;
  for (std::uint16_t port = 10000; port < 20000; ++port) refused += tries_of(port) ? 0 : 1;
  CHECK(refused < 70);  // neighbours as next tries: 113
}

TEST_CASE("bounds of the range") {
  const NatRange range(HashKey{}, {address("10.1.0.1")}, 2000, 2000);
  CHECK(range.at(tcp_tuple("203.0.113.7:1", "198.51.100.1:80"), 5) == endpoint("10.1.0.1:2000"));
  CHECK(range.contains(endpoint("10.1.0.1:2000")));
  CHECK_FALSE(range.contains(endpoint("10.1.0.1:2001")));
  CHECK_FALSE(range.contains(endpoint("10.1.0.1:1999")));
  CHECK_FALSE(range.contains(endpoint("10.1.0.3:2000")));
  CHECK(NatRange().empty());
  CHECK_FALSE(NatRange().contains(endpoint("10.1.0.1:2000")));
  const NatRange whole(HashKey{}, {address("10.1.0.1")}, 1, 65535);
  for (std::size_t i = 0; i < 70000; i += 7) CHECK(whole.at(tcp_tuple("203.0.113.7:1", "198.51.100.1:80"), i).port >= 1);
}
