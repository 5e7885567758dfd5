// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/prefix.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
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

TEST_CASE("addresses as blocks: exactly these, in as few as can be") {
  const auto blocks = [](std::initializer_list<const char*> texts) {
    std::vector<IpAddress> addresses;
    for (const char* text : texts) addresses.push_back(*IpAddress::parse(text));
    std::string out;
    for (const Prefix& block : blocks_of(addresses)) out += block.to_string() + " ";
    return out;
  };
  CHECK(blocks({}).empty());
  CHECK(blocks({"10.0.0.1", "10.0.0.2"}) == "10.0.0.1/32 10.0.0.2/32 ");
  CHECK(blocks({"10.0.0.3", "10.0.0.2", "10.0.0.3", "10.0.0.1"}) == "10.0.0.1/32 10.0.0.2/31 ");
  CHECK(blocks({"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.5"}) == "10.0.0.0/30 10.0.0.5/32 ");
  CHECK(blocks({"255.255.255.255", "0.0.0.0", "::1", "::"}) == "0.0.0.0/32 255.255.255.255/32 ::/127 ");
  CHECK(blocks({"fd00::ffff", "fd00::1:0"}) == "fd00::ffff/128 fd00::1:0/128 ");  // neighbours, but no halves of one block
}

TEST_CASE("blocks of random addresses hold these and no others, and no two of them are halves of one") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::set<std::uint32_t> numbers;
    for (int i = 0; i < 60; ++i) numbers.insert(0x0a0000f0 + static_cast<std::uint32_t>(random() % 100));
    std::vector<IpAddress> addresses;
    for (const std::uint32_t number : numbers) addresses.push_back(IpAddress::v4(number));
    std::shuffle(addresses.begin(), addresses.end(), random);
    const std::vector<Prefix> blocks = blocks_of(addresses);
    std::size_t held = 0;
    for (const Prefix& block : blocks) {
      CHECK(block.is_network());
      held += std::size_t{1} << block.host_bits();
    }
    CHECK(held == numbers.size());
    for (const IpAddress& address : addresses)
      CHECK(std::count_if(blocks.begin(), blocks.end(), [&](const Prefix& b) { return b.contains(address); }) == 1);
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      const bool same = blocks[i].length == blocks[i - 1].length;
      CHECK_FALSE(
          (same && masked(blocks[i].address, blocks[i].length - 1u) == masked(blocks[i - 1].address, blocks[i].length - 1u)));
    }
  }
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
