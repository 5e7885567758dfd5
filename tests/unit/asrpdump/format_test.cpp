// SPDX-License-Identifier: BSD-3-Clause
#include "report/format.hpp"

#include <doctest/doctest.h>

#include <random>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;

namespace {

template <typename Value>
std::string with(void (*append)(std::string&, Value), std::remove_reference_t<Value> value) {
  std::string out;
  append(out, value);
  return out;
}

std::string seconds(std::int64_t whole, std::uint32_t nanoseconds, std::uint8_t decimals) {
  return with<const Stamp&>(append_seconds, Stamp{whole, nanoseconds, decimals});
}

}  // namespace

TEST_CASE("addresses are written as libasrp writes them") {
  for (const auto* text : {"0.0.0.0", "255.255.255.255", "192.0.2.100", "10.9.99.101", "::", "::1", "1::", "2001:db8::1",
                           "2001:db8:0:1:1:1:1:1", "1:0:0:2::3", "::2:0:0:0", "fe80::abcd:ef01:2345:6789", "::ffff:c000:201"}) {
    const IpAddress address = test::address(text);
    CHECK(with<const IpAddress&>(append_address, address) == address.to_string());
    CHECK(with<const Endpoint&>(append_endpoint, Endpoint{address, 65535}) == Endpoint{address, 65535}.to_string());
  }
}

TEST_CASE("any IPv6 address is written as libasrp writes it") {
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    Buffer octets(16);
    for (std::uint8_t& octet : octets) octet = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : 0);
    const IpAddress address = IpAddress::v6(octets);
    REQUIRE(with<const IpAddress&>(append_address, address) == address.to_string());
  }
}

TEST_CASE("stamps have the decimals of their file") {
  CHECK(seconds(1'700'000'000, 1'500, 6) == "1700000000.000001");
  CHECK(seconds(1'700'000'000, 1'500, 9) == "1700000000.000001500");
  CHECK(seconds(0, 999'999'999, 6) == "0.999999");
}

TEST_CASE("a stamp before 1970 is a negative number of the right size") {
  CHECK(seconds(-1, 0, 6) == "-1.000000");
  CHECK(seconds(-1, 500'000'000, 6) == "-0.500000");
  CHECK(seconds(-2, 750'000'000, 9) == "-1.250000000");
}

TEST_CASE("octets in hexadecimal, long ones shortened") {
  std::string out;
  append_hex_start(out, test::hex("00ff10"), 4);
  append_hex_start(out, test::hex("0102030405"), 4);
  CHECK(out == "00ff1001020304...");
}

TEST_CASE("types that the draft doesn't know are numbers") {
  CHECK(with<wire::MsgType>(append_type, wire::MsgType::NC) == "NC");
  CHECK(with<wire::MsgType>(append_type, static_cast<wire::MsgType>(200)) == "type 200");
}
