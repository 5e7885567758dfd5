// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "asrp/packet/surgery.hpp"
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

UdpBuilder datagram() { return udp("192.0.2.10:40000", "198.51.100.5:53"); }

std::string surplus_after_insert(const UdpBuilder& builder, Octets message, const Marker& marker = {}) {
  const Buffer packet = builder.build();
  Buffer with;
  const auto done = insert_inline(view_of(packet), marker, message, kMtu, with);
  if (!done) return std::string(to_string(done.error()));
  CHECK(slow_verify(with));
  return to_hex(view_of(with).surplus());
}

std::string surplus_after_strip(const UdpBuilder& builder, const Marker& marker = {}) {
  const Buffer packet = builder.build();
  const PacketView view = view_of(packet);
  const Located located = locate(view, marker);
  REQUIRE(located.found());
  Buffer out;
  strip(view, located, located.message_room, out);
  CHECK(slow_verify(out));
  CHECK(to_hex(view_of(out).payload()) == to_hex(view.payload()));
  return to_hex(view_of(out).surplus());
}

const Buffer kHello = hex("0005000000100011a1b2c3d400000000");

}  // namespace

TEST_CASE("[spec 4.2.1-2] the area that a message makes, even and odd") {
  CHECK(surplus_after_insert(datagram().payload("ping"), kHello) == "d9d47f144153" + to_hex(kHello));
  CHECK(surplus_after_insert(datagram().payload("ping!"), kHello) == "00d9d37f144153" + to_hex(kHello));
}

TEST_CASE("UDP Length, checksum and user data are the sender's own") {
  const Buffer packet = datagram().payload("ping!").build();
  Buffer with;
  REQUIRE(insert_inline(view_of(packet), Marker{}, kHello, kMtu, with));
  CHECK(to_hex(Octets(with).subspan(20, 13)) == to_hex(Octets(packet).subspan(20, 13)));
}

TEST_CASE("the short form holds 250 octets of message, the extended one more") {
  CHECK(surplus_after_insert(datagram().payload("ping"), pattern(250)).substr(4, 8) == "7ffe4153");
  CHECK(surplus_after_insert(datagram().payload("ping"), pattern(251)).substr(4, 12) == "7fff01014153");
  CHECK(surplus_after_insert(datagram().payload("ping"), pattern(252), {77, 66, 0}).substr(4, 4) == "42fe");
  CHECK(surplus_after_insert(datagram().payload("ping"), pattern(253), {77, 66, 0}).substr(4, 8) == "42ff0101");
}

TEST_CASE("behind the options that are there and in front of EOL") {
  const char* time = "080a0000000100000000";
  const std::string ours = "7f144153" + to_hex(kHello);
  CHECK(surplus_after_insert(datagram().payload("ping").options(time), kHello).substr(4) == time + ours);
  CHECK(surplus_after_insert(datagram().payload("ping").options(hex("080a0000000100000000 0000")), kHello).substr(4) ==
        time + ours + "0000");
  CHECK(surplus_after_insert(datagram().payload("ping!").options("040405dc 0101"), kHello).substr(6) == "040405dc0101" + ours);
}

TEST_CASE("an OCS that is not used stays unused") {
  CHECK(surplus_after_insert(datagram().payload("ping").surplus("0000080a0000000100000000").no_checksum(), kHello) ==
        "0000080a00000001000000007f144153" + to_hex(kHello));
  CHECK(surplus_after_strip(datagram().payload("ping").surplus("00007f064153abcd040405dc").no_checksum()) == "0000040405dc");
}

TEST_CASE("areas that are left alone") {
  CHECK(surplus_after_insert(datagram().payload("ping").surplus("00"), kHello) == "malformed_options");
  CHECK(surplus_after_insert(datagram().payload("ping").surplus("1234040405dc"), kHello) == "malformed_options");
  CHECK(surplus_after_insert(datagram().payload("ping").options(""), kHello) == "malformed_options");
  CHECK(surplus_after_insert(datagram().payload("ping").options("010100"), kHello) == "malformed_options");
  CHECK(surplus_after_insert(datagram().payload("ping").options("0800"), kHello) == "malformed_options");
  CHECK(surplus_after_insert(datagram().payload("ping").options("0906aabbccdd"), kHello) == "protected_segment");
  CHECK(surplus_after_insert(datagram().payload("ping").options("c106aabbccdd"), kHello) == "protected_segment");
  CHECK(surplus_after_insert(datagram().payload("ping").options("030a0000000000000000"), kHello) == "protected_segment");
  CHECK(surplus_after_insert(datagram().payload("ping").options("7f064153abcd"), kHello) == "has_message");
  CHECK(surplus_after_insert(datagram(), kHello) == "no_data");
}

TEST_CASE("kinds up to 191 are safe to stand beside, those from 192 on are not") {
  CHECK(surplus_after_insert(datagram().payload("ping").options("bf04abcd"), kHello).substr(4) ==
        "bf04abcd7f144153" + to_hex(kHello));
  CHECK(surplus_after_insert(datagram().payload("ping").options("c004abcd"), kHello) == "protected_segment");
  CHECK(surplus_after_insert(datagram().payload("ping").options("fe04abcd"), kHello) == "protected_segment");
}

TEST_CASE("an area that holds nothing else vanishes with the message") {
  CHECK(surplus_after_strip(datagram().payload("ping!").options("7f064153abcd")).empty());
  CHECK(surplus_after_strip(datagram().payload("ping!").options("7f064153abcd0000")).empty());
  CHECK(surplus_after_strip(datagram().payload("ping!").options("01017f064153abcd")).empty());
}

TEST_CASE("other options stay, wherever they are") {
  CHECK(surplus_after_strip(datagram().payload("ping").options("040405dc7f064153abcd")).substr(4) == "040405dc");
  CHECK(surplus_after_strip(datagram().payload("ping").options("7f064153abcd080a0000000100000000")).substr(4) ==
        "080a0000000100000000");
  CHECK(surplus_after_strip(datagram().payload("ping!").options("040405dc7f074153abcdef7f05beefaa00")).substr(6) ==
        "040405dc7f05beefaa00");
}

TEST_CASE("a separate datagram has UDP Length 8, and a checksum only if the datagram had one") {
  for (const bool has_checksum : {true, false}) {
    UdpBuilder builder = datagram().payload("ping!");
    if (!has_checksum) builder.no_checksum();
    const Buffer packet = builder.build();
    Buffer out;
    REQUIRE(make_separate(view_of(packet), Marker{}, kHello, kMtu, out));
    CHECK(slow_verify(out));
    CHECK(load_u16(out, 24) == 8);
    CHECK((load_u16(out, 26) != 0) == has_checksum);
    CHECK(to_hex(view_of(out).surplus()) == "d9d47f144153" + to_hex(kHello));
  }
}
