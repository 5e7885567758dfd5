// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <tuple>

#include "io/icmp_unreachable.hpp"

using namespace asrp;
using namespace asrp::io;

namespace {

Buffer hex(const char* text) {
  Buffer octets;
  REQUIRE(from_hex(text, octets));
  return octets;
}

// Outer IPv4, ICMP 3/3, quoted: 10.0.0.1:12345 > 10.0.0.2:51200 UDP.
const char* kV4 =
    "45000038000000004001 0000 0a000002 0a000001  0303 0000 00000000"
    "45000020000000004011 0000 0a000001 0a000002  3039 c800 000c 0000 01020304";
const char* kV6 =
    "0104 0000 00000000 60000000 000c 11 40 fd010000000000000000000000000001 fd010000000000000000000000000002 3039 c800 000c "
    "0000 01020304";

const IpAddress kServer = *IpAddress::parse("10.0.0.2");
const IpAddress kServer6 = *IpAddress::parse("fd01::2");

}  // namespace

using Row = std::tuple<const char*, const char*>;

TEST_CASE("port unreachable about our port names the peer, every prefix of it names nobody") {
  for (const auto& [text, name] : {Row{kV4, "10.0.0.2"}, Row{kV6, "fd01::2"}}) {
    const IpAddress peer = *IpAddress::parse(name);
    const Buffer packet = hex(text);
    const auto error = unreachable_peer(packet, peer, 51200);
    REQUIRE(error.has_value());
    CHECK(error->peer == peer);
    CHECK(error->source_port == 12345);
    CHECK(Buffer(error->message.begin(), error->message.end()) == Buffer{1, 2, 3, 4});
    CHECK_FALSE(unreachable_peer(packet, peer, 51201).has_value());
    for (std::size_t size = 0; size < packet.size() - 8; ++size) {  // all but UDP's ports need not be there
      CHECK_FALSE(unreachable_peer(Octets(packet).first(size), peer, 51200).has_value());
    }
  }
}

TEST_CASE("what is quoted of the datagram ends where it is cut, and where the datagram ends") {
  const Buffer packet = hex(kV4);
  for (std::size_t cut = 1; cut <= 8; ++cut) {
    const auto error = unreachable_peer(Octets(packet).first(packet.size() - cut), kServer, 51200);
    REQUIRE(error.has_value());
    CHECK(error->message.size() == (cut < 4 ? 4 - cut : 0));
  }
  Buffer padded = packet;
  padded.resize(padded.size() + 68);  // RFC 4884 pads what it quotes
  CHECK(unreachable_peer(padded, kServer, 51200)->message.size() == 4);
  padded[28 + 20 + 5] = 7;  // a UDP length that no datagram has
  CHECK(unreachable_peer(padded, kServer, 51200)->message.empty());
}

TEST_CASE("other errors and other protocols name nobody") {
  Buffer host = hex(kV4);
  host[21] = 1;  // host unreachable
  CHECK_FALSE(unreachable_peer(host, kServer, 51200).has_value());
  Buffer tcp = hex(kV4);
  tcp[28 + 9] = 6;
  CHECK_FALSE(unreachable_peer(tcp, kServer, 51200).has_value());
  Buffer short_header = hex(kV4);
  short_header[28] = 0x41;
  CHECK_FALSE(unreachable_peer(short_header, kServer, 51200).has_value());
  Buffer admin = hex(kV6);
  admin[1] = 1;
  CHECK_FALSE(unreachable_peer(admin, kServer6, 51200).has_value());
}

TEST_CASE("only the host itself says that nobody listens there: a forged error from elsewhere names nobody") {
  CHECK_FALSE(unreachable_peer(hex(kV4), *IpAddress::parse("203.0.113.66"), 51200).has_value());
  CHECK_FALSE(unreachable_peer(hex(kV6), *IpAddress::parse("2001:db8::66"), 51200).has_value());
  CHECK_FALSE(unreachable_peer(hex(kV4), kServer6, 51200).has_value());
}
