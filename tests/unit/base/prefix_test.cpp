// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/prefix.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"

using namespace asrp;
using namespace asrp::test;

TEST_CASE("prefixes are read and written") {
  static constexpr struct {
    const char* text;
    const char* written;
    bool network;
  } kRows[] = {{"10.0.0.0/8", "10.0.0.0/8", true},
               {"10.0.0.1/8", "10.0.0.1/8", false},
               {"0.0.0.0/0", "0.0.0.0/0", true},
               {"192.0.2.7", "192.0.2.7/32", true},
               {"192.0.2.128/25", "192.0.2.128/25", true},
               {"192.0.2.128/24", "192.0.2.128/24", false},
               {"2001:DB8::/32", "2001:db8::/32", true},
               {"2001:db8:0:8000::/49", "2001:db8:0:8000::/49", true},
               {"2001:db8:0:8000::/48", "2001:db8:0:8000::/48", false},
               {"::1", "::1/128", true},
               {"::/0", "::/0", true}};
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    CHECK(prefix(row.text).to_string() == row.written);
    CHECK(prefix(row.text).is_network() == row.network);
    CHECK(prefix(row.text).network().is_network());
  }
}

TEST_CASE("what is no prefix") {
  for (const char* text :
       {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/08", "10.0.0.0/8 ", "10.0.0.0/ 8",
        "10.0.0.0/8/8", "10.0.0/8", "::/129", "::/256", "::/1000", "10.0.0.0/0x8", "10.0.0.0-8"}) {
    CAPTURE(text);
    CHECK_FALSE(Prefix::parse(text));
  }
  CHECK_FALSE(Prefix{address("10.0.0.0"), 33}.is_valid());
  CHECK_FALSE(Prefix{address("::"), 129}.is_valid());
}

TEST_CASE("what lies in a prefix") {
  CHECK(prefix("10.0.0.0/8").contains(address("10.255.255.255")));
  CHECK_FALSE(prefix("10.0.0.0/8").contains(address("11.0.0.0")));
  CHECK_FALSE(prefix("0.0.0.0/0").contains(address("::")));
  CHECK(prefix("192.0.2.64/26").contains(address("192.0.2.127")));
  CHECK_FALSE(prefix("192.0.2.64/26").contains(address("192.0.2.128")));
  CHECK(prefix("2001:db8:0:8000::/49").contains(address("2001:db8:0:ffff::1")));
  CHECK_FALSE(prefix("2001:db8:0:8000::/49").contains(address("2001:db8:0:7fff::1")));
  CHECK(prefix("192.0.2.10").contains(address("192.0.2.10")));
  CHECK_FALSE(prefix("192.0.2.10").contains(address("192.0.2.11")));
  CHECK(prefix("192.0.2.0/24").contains(address("192.0.2.255")));
  CHECK_FALSE(prefix("192.0.2.0/24").contains(address("192.0.3.0")));
  CHECK(prefix("192.0.2.128/25").contains(address("192.0.2.200")));
  CHECK_FALSE(prefix("192.0.2.128/25").contains(address("192.0.2.127")));
  CHECK(prefix("10.0.0.0/7").contains(address("11.255.0.1")));
  CHECK_FALSE(prefix("10.0.0.0/7").contains(address("12.0.0.1")));
  CHECK(prefix("0.0.0.0/0").contains(address("203.0.113.1")));
  CHECK(prefix("2001:db8::/33").contains(address("2001:db8:7fff::1")));
  CHECK_FALSE(prefix("2001:db8::/33").contains(address("2001:db8:8000::1")));
  CHECK(prefix("2001:db8::1").contains(address("2001:db8::1")));
  CHECK_FALSE(prefix("2001:db8::1").contains(address("2001:db8::2")));
  CHECK_FALSE(prefix("::/0").contains(address("0.0.0.0")));
  CHECK(prefix("10.0.0.0/8").contains(prefix("10.1.0.0/16")));
  CHECK(prefix("10.0.0.0/8").contains(prefix("10.0.0.0/8")));
  CHECK_FALSE(prefix("10.1.0.0/16").contains(prefix("10.0.0.0/8")));
  CHECK(prefix("10.1.0.0/16").overlaps(prefix("10.0.0.0/8")));
  CHECK_FALSE(prefix("10.1.0.0/16").overlaps(prefix("10.2.0.0/16")));
  CHECK_FALSE(prefix("::/0").overlaps(prefix("0.0.0.0/0")));
  CHECK(masked(address("192.0.2.255"), 0) == address("0.0.0.0"));
  CHECK(masked(address("192.0.2.255"), 31) == address("192.0.2.254"));
  CHECK(masked(address("2001:db8::ffff"), 128) == address("2001:db8::ffff"));
}

TEST_CASE("a length beyond the address means all of it to those who ask what lies in a prefix") {
  CHECK(Prefix{address("192.0.2.1"), 200}.contains(address("192.0.2.1")));
  CHECK_FALSE(Prefix{address("192.0.2.1"), 200}.contains(address("192.0.2.3")));
}

TEST_CASE("prefixes are ordered by address, a block in front of those in it") {
  std::vector<Prefix> list = {prefix("::/0"), prefix("10.1.0.0/16"), prefix("10.0.0.0/16"), prefix("10.0.0.0/8"),
                              prefix("9.0.0.0/8")};
  std::sort(list.begin(), list.end());
  std::string order;
  for (const Prefix& p : list) order += p.to_string() + " ";
  CHECK(order == "9.0.0.0/8 10.0.0.0/8 10.0.0.0/16 10.1.0.0/16 ::/0 ");
  CHECK(prefix("10.0.0.0/8").host_bits() == 24);
  CHECK(prefix("2001:db8::/64").host_bits() == 64);
}
