// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/address_text.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <random>

using namespace asrp;

namespace {

std::string text_of(const IpAddress& address) {
  std::string out = "x";
  append_address(out, address);
  return out.substr(1);
}

}  // namespace

TEST_CASE("text is appended, in the form of RFC 5952") {
  for (const char* text :
       {"0.0.0.0", "255.255.255.255", "10.9.100.1", "::", "::1", "1::", "2001:db8::1", "2001:db8:0:1:1:1:1:1", "2001:0:0:1::1",
        "fe80::1:0:0:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    CHECK(text_of(*IpAddress::parse(text)) == text);
    CHECK(IpAddress::parse(text)->to_string() == text);
  }
  for (const char* text : {"192.0.2.1:80", "[2001:db8::1]:65535", "[::]:0"}) {
    std::string out;
    append_endpoint(out, *Endpoint::parse(text));
    CHECK(out == text);
    CHECK(Endpoint::parse(text)->to_string() == text);
  }
}

TEST_CASE("it is what the C library writes") {
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::uint8_t octets[16];
    // Many zeros; the first is none, for the C library writes some of these addresses with an IPv4 part.
    for (std::uint8_t& octet : octets) octet = random() % 3 == 0 ? static_cast<std::uint8_t>(random()) : 0;
    octets[0] = 0x20;
    char text[INET6_ADDRSTRLEN];
    CHECK(text_of(IpAddress::v6(octets)) == inet_ntop(AF_INET6, octets, text, sizeof text));
    CHECK(text_of(IpAddress::v4(Octets(octets).first(4))) == inet_ntop(AF_INET, octets, text, sizeof text));
  }
}
