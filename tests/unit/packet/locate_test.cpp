// SPDX-License-Identifier: BSD-3-Clause
// Single packets are in tests/vectors/packets.toml.
#include "asrp/packet/locate.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

PacketView view_of(Octets packet) {
  const auto view = PacketView::parse(packet);
  REQUIRE(view);
  return *view;
}

TcpBuilder segment() { return tcp("192.0.2.1:1000", "198.51.100.1:80").push(); }
UdpBuilder datagram() { return udp("192.0.2.1:1000", "198.51.100.1:53"); }

}  // namespace

TEST_CASE("TCP: the room is the whole payload, the option is in the header") {
  const Buffer packet = segment().options("0101fd044153 0101").payload("message and data").build();
  const Located located = locate(view_of(packet), Marker{});
  REQUIRE(located.found());
  CHECK(located.option_offset == 42);
  CHECK(located.option_size == 4);
  CHECK(located.message_offset == 48);
  CHECK(located.message_room == 16);
}

TEST_CASE("UDP: the room is the option's data exactly") {
  const Buffer packet = datagram().payload("ping!").options("080a00000001000000007f0741530badc0 00").build();
  const Located located = locate(view_of(packet), Marker{});
  REQUIRE(located.found());
  CHECK(located.option_offset == 20 + 13 + 3 + 10);
  CHECK(located.option_size == 7);
  CHECK(to_hex(located.room(view_of(packet))) == "0badc0");
}

TEST_CASE("ICMP carries no message") {
  const Buffer packet = icmp_error("192.0.2.1", "192.0.2.2").quoting(segment().options("fd044153").build()).build();
  CHECK(locate(view_of(packet), Marker{}).status == LocateStatus::none);
}

TEST_CASE("a datagram without checksum may leave its OCS unused, one with a checksum may not") {
  const char* options = "0000 7f064153abcd";
  CHECK(locate(view_of(datagram().payload("ping").surplus(options).no_checksum().build()), Marker{}).found());
  CHECK(locate(view_of(datagram().payload("ping").surplus(options).build()), Marker{}).status == LocateStatus::bad_ocs);
}

TEST_CASE("a message beside an unsafe option or a fragment is not taken, one beside a safe option is") {
  const auto status = [](const char* options) {
    return locate(view_of(datagram().payload("ping").options(options).build()), Marker{}).status;
  };
  CHECK(status("bf04abcd 7f064153abcd") == LocateStatus::found);
  CHECK(status("7f064153abcd bf04abcd") == LocateStatus::found);
  CHECK(status("c004abcd 7f064153abcd") == LocateStatus::none);
  CHECK(status("7f064153abcd c004abcd") == LocateStatus::bad_option);
  CHECK(status("7f064153abcd 030a0000000000000000") == LocateStatus::bad_option);
  CHECK(status("0404abcd 7f064153abcd") == LocateStatus::found);
}

TEST_CASE("every change of one octet in the surplus area is seen") {
  const Buffer packet = datagram().payload("ping!").options("7f1441530005000000100011a1b2c3d400000000").build();
  const std::size_t begin = packet.size() - view_of(packet).surplus().size();
  for (std::size_t at = begin; at < packet.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Buffer changed = packet;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ (1 << bit));
      CHECK_FALSE(locate(view_of(changed), Marker{}).found());
    }
  }
}

TEST_CASE("octets outside of the packet have no say") {
  RandomPackets random(37);
  for (int i = 0; i < 3000; ++i) {
    Buffer packet = random.next();
    if (random.chance(2)) packet[packet.size() - 1 - random.below(packet.size() / 2)] ^= 0x10;
    const auto view = PacketView::parse(packet);
    if (!view) continue;
    const Located alone = locate(*view, Marker{});
    for (const int poison : {0x00, 0x01, 0xff}) {
      Buffer buffer(packet.size() + 64, static_cast<std::uint8_t>(poison));
      std::copy(packet.begin(), packet.end(), buffer.begin());
      const Located located = locate(view_of(buffer), Marker{});
      CHECK(located.status == alone.status);
      CHECK(located.message_offset == alone.message_offset);
      CHECK(located.message_room == alone.message_room);
    }
  }
}

TEST_CASE("plain packets carry no message, whatever is in them") {
  RandomPackets random(41);
  for (int i = 0; i < 3000; ++i) {
    const Buffer packet = random.next();
    CHECK(locate(view_of(packet), Marker{}).status == LocateStatus::none);
  }
}

TEST_CASE("a separate TCP packet has no data of the flow and none of SYN, FIN, RST") {
  for (int flags = 0; flags < 256; ++flags) {
    const Buffer packet = segment().flags(static_cast<std::uint8_t>(flags)).options("fd044153").data(16).build();
    CHECK(is_separate(view_of(packet), 16) == ((flags & 0x07) == 0));
    CHECK_FALSE(is_separate(view_of(packet), 15));
  }
}

TEST_CASE("a separate UDP packet has no user data") {
  CHECK(is_separate(view_of(datagram().options("7f064153abcd").build()), 2));
  CHECK_FALSE(is_separate(view_of(datagram().data(1).options("7f064153abcd").build()), 2));
  CHECK_FALSE(is_separate(view_of(icmp_error("192.0.2.1", "192.0.2.2").build()), 0));
}
