// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>
#include <unistd.h>

#include "io/lab.hpp"
#include "io/route_paths.hpp"

using namespace asrp;
using namespace asrp::io;
using namespace asrp::test;

TEST_CASE("the MTU is the route's own, else its device's, else 1500") {
  const Namespace ns;
  run("ip link add d0 mtu 1400 type veth peer name d1");
  run("ip link set d0 up");
  run("ip addr add 10.0.0.1/24 dev d0");
  run("ip addr add fd01::1/64 dev d0 nodad");
  run("ip route add 192.0.2.0/24 via 10.0.0.2 mtu 1300");
  run("ip -6 route add 2001:db8::/32 via fd01::2 mtu 1290");
  auto paths = open_route_paths();
  REQUIRE(paths.has_value());
  const auto mtu = [&](const char* to) { return (*paths)->mtu_towards(*IpAddress::parse(to)); };
  for (int again = 0; again < 2; ++again) {
    CHECK(mtu("10.0.0.9") == 1400);
    CHECK(mtu("fd01::9") == 1400);
    CHECK(mtu("192.0.2.1") == 1300);
    CHECK(mtu("2001:db8::1") == 1290);
    CHECK(mtu("198.51.100.1") == 1500);  // no route
    CHECK(mtu("127.0.0.1") == 65536);
  }
}

TEST_CASE("a change of the route is seen after the cache's second") {
  const Namespace ns;
  run("ip link add d0 type veth peer name d1");
  run("ip link set d0 up");
  run("ip addr add 10.0.0.1/24 dev d0");
  auto paths = open_route_paths();
  REQUIRE(paths.has_value());
  const IpAddress to = *IpAddress::parse("10.0.0.9");
  CHECK((*paths)->mtu_towards(to) == 1500);
  run("ip link set d0 mtu 1350");
  for (int i = 0; i < 40 && (*paths)->mtu_towards(to) != 1350; ++i) ::usleep(100000);
  CHECK((*paths)->mtu_towards(to) == 1350);
}
