// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/surgery.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

constexpr std::size_t kMtu = 1500;

PacketView view_of(Octets packet) {
  const auto view = PacketView::parse(packet);
  REQUIRE(view);
  return *view;
}

Buffer inserted(Octets packet, Octets message, const Marker& marker = {}, std::size_t mtu = kMtu) {
  Buffer out;
  REQUIRE(insert_inline(view_of(packet), marker, message, mtu, out));
  return out;
}

Buffer stripped(Octets packet, std::size_t message_size, const Marker& marker = {}) {
  const PacketView view = view_of(packet);
  const Located located = locate(view, marker);
  REQUIRE(located.found());
  Buffer out;
  strip(view, located, message_size, out);
  return out;
}

}  // namespace

TEST_CASE("[spec 4.2.1] insert and strip leave a packet as it was") {
  const Buffer message = hs(Protocol::tcp).cookie(0xa1b2c3d4).build();
  for (const Buffer& packet : {
           tcp("192.0.2.1:1000", "198.51.100.1:80").syn().options("020405b40402080a00000001000000000103030a").build(),
           tcp("192.0.2.1:1000", "198.51.100.1:80").push().data(5).build(),
           tcp("[2001:db8::1]:1000", "[2001:db8::2]:80").push().data(8).build(),
           udp("192.0.2.1:1000", "198.51.100.1:53").payload("ping").build(),
           udp("[2001:db8::1]:1000", "[2001:db8::2]:53").payload("ping!").build(),
           udp("192.0.2.1:1000", "198.51.100.1:53").payload("ping!").options("080a0000000100000000").build(),
       }) {
    CAPTURE(to_hex(packet));
    const Buffer with = inserted(packet, message);
    CHECK(slow_verify(with));
    const Located located = locate(view_of(with), Marker{});
    REQUIRE(located.found());
    const Octets room = located.room(view_of(with));
    CHECK(to_hex(room.first(message.size())) == to_hex(message));
    CHECK(to_hex(stripped(with, message.size())) == to_hex(packet));
  }
}

TEST_CASE("TCP SYN with an NS as in the fact sheet's vector") {
  const Buffer packet = tcp("203.0.113.7:40000", "198.51.100.5:443")
                            .syn()
                            .seq(1000)
                            .ack(0)
                            .window(65535)
                            .options("020405b40402080a000000010000000001030307")
                            .build();
  const Buffer message = hex("000001040028000600c0ffeecb007107c6336401c35001bbc000020ac63364059c4001bbc000020a");
  const Buffer with = inserted(packet, message);
  CHECK(slow_verify(with));
}
