// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/address.hpp"

#include <doctest/doctest.h>

using asrp::Endpoint;
using asrp::IpAddress;

TEST_CASE("IPv4 and IPv6 text survives a round trip in its canonical form") {
  static constexpr struct {
    const char* text;
    const char* canonical;
  } kRows[] = {
      {"192.0.2.1", "192.0.2.1"},
      {"0.0.0.0", "0.0.0.0"},
      {"255.255.255.255", "255.255.255.255"},
      {"::", "::"},
      {"::1", "::1"},
      {"2001:DB8:0:0::1", "2001:db8::1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"::ffff:192.0.2.1", "::ffff:c000:201"},
      {"1::", "1::"},
      {"fe80::1:2:3:4", "fe80::1:2:3:4"},
  };
  for (const auto& row : kRows) {
    CAPTURE(row.text);
    const auto address = IpAddress::parse(row.text);
    REQUIRE(address);
    CHECK(address->to_string() == row.canonical);
    CHECK(IpAddress::parse(address->to_string()) == address);
  }
}

TEST_CASE("what is no address is refused") {
  for (const char* text :
       {"",           "1.2.3",        "1.2.3.4.5", "256.1.1.1",     "01.2.3.4",          " 1.2.3.4", "1.2.3.4 ",
        "1.2.3.4/24", "fe80::1%eth0", ":::",       "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3",  "12345::",
        "::g",        "1:",           ":1",        "::1.2.3",       "1.2.3.4::",         "-1.2.3.4", "1:2:3:4:5:6:7::8"}) {
    CAPTURE(text);
    CHECK_FALSE(IpAddress::parse(text));
  }
}

TEST_CASE("endpoints need brackets around IPv6 and a port in range") {
  CHECK(Endpoint::parse("192.0.2.1:80")->port == 80);
  CHECK(Endpoint::parse("[2001:db8::1]:443")->to_string() == "[2001:db8::1]:443");
  for (const char* text : {"192.0.2.1", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:-1", "2001:db8::1:80", "[192.0.2.1]:80",
                           "[::1]", "192.0.2.1:http"}) {
    CAPTURE(text);
    CHECK_FALSE(Endpoint::parse(text));
  }
}

TEST_CASE("mapped addresses are normalised") {
  CHECK(IpAddress::parse("::ffff:192.0.2.1")->unmapped() == *IpAddress::parse("192.0.2.1"));
  CHECK(IpAddress::parse("2001:db8::1")->unmapped() == *IpAddress::parse("2001:db8::1"));
}
