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

namespace {

/// A host with a default route, whose changes are watched.
struct Watched {
  Watched() {
    run("ip link add d0 type veth peer name d1");
    run("ip link set d0 up");
    run("ip link set d1 up");
    run("ip addr add 10.0.0.1/24 dev d0");
    run("ip route add default via 10.0.0.2");
    auto opened = open_route_paths();
    REQUIRE(opened.has_value());
    paths = std::move(*opened);
    REQUIRE(paths->watch().has_value());
  }
  std::uint32_t route(const char* to = "198.51.100.1", const char* from = "") const {
    paths->refresh();
    const IpAddress destination = *IpAddress::parse(to);
    return paths->route_of(*from == 0 ? IpAddress::any(destination.family()) : *IpAddress::parse(from), destination);
  }
  const Namespace ns;
  std::unique_ptr<RoutePaths> paths;
};

}  // namespace

TEST_CASE("a route has a number: the same for all that goes the same way") {
  const Watched w;
  const std::uint32_t number = w.route();
  CHECK(number != 0);
  CHECK(w.route("203.0.113.7") == number);
  CHECK(w.route("10.0.0.2") != number);  // no gateway
  CHECK(w.route("127.0.0.1") != number);
  CHECK(w.route("2001:db8::1") == 0);  // no route
  run("ip route add 192.0.2.0/24 via 10.0.0.3");
  CHECK(w.route("192.0.2.1") != number);
  CHECK(w.route() == number);
}

TEST_CASE("what has nothing to do with a route leaves it its number") {
  const Watched w;
  const std::uint32_t number = w.route();
  run("ip link add d2 type veth peer name d3");
  run("ip link set d2 up");
  run("ip addr add 10.7.0.1/24 dev d2");
  run("ip route add 192.0.2.0/24 via 10.7.0.2");
  run("ip route del 192.0.2.0/24");
  run("ip addr del 10.7.0.1/24 dev d2");
  run("ip link del d2");
  run("ip addr change 10.0.0.1/24 dev d0 valid_lft 1000 preferred_lft 1000");  // a lease is renewed
  run("ip route replace default via 10.0.0.2");
  CHECK(w.route() == number);
}

TEST_CASE("a route that changes or ends has another number, also if all looks as before in the end") {
  const Watched w;
  const std::uint32_t number = w.route();
  SUBCASE("another gateway and back") {
    run("ip route replace default via 10.0.0.3");
    CHECK(w.route() != number);
    run("ip route replace default via 10.0.0.2");
  }
  SUBCASE("away and back at once") {
    run("ip route del default");
    run("ip route add default via 10.0.0.2");
  }
  SUBCASE("the address away and back at once") {
    run("ip addr flush dev d0");
    run("ip addr add 10.0.0.1/24 dev d0");
    run("ip route add default via 10.0.0.2");
  }
  SUBCASE("a link without carrier for a moment") {
    run("ip link set d1 down");
    run("ip link set d1 up");
    run("ip route replace default via 10.0.0.2");
  }
  SUBCASE("another source address") {
    run("ip addr add 10.0.0.9/24 dev d0");
    run("ip route replace default via 10.0.0.2 src 10.0.0.9");
  }
  CHECK(w.route() != number);
  CHECK(w.route() != 0);
}

TEST_CASE("a route is that of the source: a host in two networks keeps what it knows of them apart") {
  const Watched w;
  run("ip link add d2 type veth peer name d3");
  run("ip link set d2 up");
  run("ip addr add 10.7.0.1/24 dev d2");
  run("ip addr add fd07::1/64 dev d2 nodad");
  run("ip -6 route add default via fd07::2");
  run("ip route add default via 10.7.0.2 table 7");
  run("ip rule add from 10.7.0.1 table 7");
  const std::uint32_t first = w.route("198.51.100.1", "10.0.0.1");
  const std::uint32_t second = w.route("198.51.100.1", "10.7.0.1");
  CHECK(first != 0);
  CHECK(second != 0);
  CHECK(first != second);
  CHECK(first == w.route());
  CHECK(w.route("203.0.113.7", "10.7.0.1") == second);
  CHECK(w.route("198.51.100.1", "10.99.0.1") == 0);  // not this host's
  CHECK(w.route("2001:db8::1", "fd07::1") != 0);
  SUBCASE("a change of the one leaves the other as it is") {
    run("ip route replace default via 10.0.0.3");
    CHECK(w.route("198.51.100.1", "10.7.0.1") == second);
    CHECK(w.route("198.51.100.1", "10.0.0.1") != first);
  }
  SUBCASE("the source's own table changes") {
    run("ip route replace default via 10.7.0.3 table 7");
    CHECK(w.route("198.51.100.1", "10.7.0.1") != second);
    CHECK(w.route("198.51.100.1", "10.0.0.1") == first);
  }
  SUBCASE("the rule goes") {
    run("ip rule del from 10.7.0.1 table 7");
    CHECK(w.route("198.51.100.1", "10.7.0.1") != second);
  }
}
