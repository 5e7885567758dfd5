// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/own_addresses.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/builders.hpp"

using namespace asrp;
using asrp::test::address;

TEST_CASE("own addresses: one that this machine lacks is told once, and again after it was away from the configuration") {
  node::OwnAddresses own;
  const std::vector<IpAddress> wrong{address("127.0.0.1"), address("192.0.2.77")};
  const auto said = own.look(wrong);
  REQUIRE(said.size() == 1);
  CHECK(said[0].rfind("192.0.2.77 of local_ips is no address of this machine: ", 0) == 0);
  CHECK(own.look(wrong).empty());
  CHECK(own.look({address("127.0.0.1")}).empty());
  CHECK(own.look(wrong) == said);
}

TEST_CASE("own addresses: of IPv6 too") {
  node::OwnAddresses own;
  const auto said = own.look({address("2001:db8::77")});
  // A machine without IPv6 has no such socket, and the daemon has refused to start there.
  REQUIRE(said.size() == (std::filesystem::exists("/proc/sys/net/ipv6") ? 1 : 0));
  for (const std::string& each : said) CHECK(each.rfind("2001:db8::77 of local_ips is no address", 0) == 0);
}
