// SPDX-License-Identifier: BSD-3-Clause
// Properties over many packets, and TCP. Single packets are in tests/vectors/packets.toml.
#include "asrp/packet/surgery.hpp"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

constexpr std::size_t kMtu = 1500;
constexpr std::size_t kNoMtu = 65535;

PacketView view_of(Octets packet) {
  const auto view = PacketView::parse(packet);
  REQUIRE(view);
  return *view;
}

std::string outcome(const Result<Done, SurgeryError>& result) {
  return result ? "done" : std::string(to_string(result.error()));
}

TcpBuilder segment() { return tcp("192.0.2.1:1000", "198.51.100.1:80").push(); }

/// slow_verify() knows no extension headers.
bool is_plain(const PacketView& view) { return view.is_v4() || view.transport_offset() == 40; }

struct Edited {
  Buffer packet;
  Located located;
};

/// The packet with the message; checks everything that must hold for it.
Edited with_message(const PacketView& view, const Marker& marker, Octets message) {
  Edited edited;
  REQUIRE(insert_inline(view, marker, message, kNoMtu, edited.packet));
  const PacketView with = view_of(edited.packet);
  CHECK(with.octets().size() == edited.packet.size());
  if (is_plain(view)) CHECK(slow_verify(edited.packet));
  CHECK(with.tuple() == view.tuple());
  edited.located = locate(with, marker);
  REQUIRE(edited.located.found());
  CHECK(to_hex(edited.located.room(with).first(message.size())) == to_hex(message));
  CHECK_FALSE(is_separate(with, message.size()));
  if (view.is_tcp()) {
    CHECK(with.tcp_sequence() == view.tcp_sequence());
    CHECK(with.tcp_acknowledgment() == view.tcp_acknowledgment());
    CHECK(with.tcp_flags() == view.tcp_flags());
  } else {
    CHECK(to_hex(with.payload()) == to_hex(view.payload()));
    CHECK(edited.located.message_room == message.size());
  }
  return edited;
}

}  // namespace

TEST_CASE("[spec 4.2.1-1] [spec 4.2.1-2] insertion and removal leave every packet as it was") {
  const Marker markers[] = {{}, {254, 127, 0xbeed}, {77, 66, 0}};
  RandomPackets random(43);
  std::array<int, 4> residues{};
  int edited_packets = 0;
  for (int i = 0; i < 12000; ++i) {
    const Buffer packet = random.next();
    const Buffer message = random.message();
    const Marker& marker = markers[random.below(3)];
    const PacketView view = view_of(packet);
    Buffer probe;
    if (!insert_inline(view, marker, message, kNoMtu, probe)) continue;
    CAPTURE(to_hex(packet));
    CAPTURE(to_hex(message));
    const Edited edited = with_message(view, marker, message);
    Buffer back;
    strip(view_of(edited.packet), edited.located, message.size(), back);
    CHECK(to_hex(back) == to_hex(packet));
    ++residues[edited.packet.size() % 4];
    ++edited_packets;
  }
  CHECK(edited_packets > 6000);
  for (const int count : residues) CHECK(count > 500);
}

TEST_CASE("a separate packet carries the message, the flow's header, and nothing of its data") {
  RandomPackets random(47);
  int made = 0;
  for (int i = 0; i < 6000; ++i) {
    const Buffer packet = random.next();
    const Buffer message = random.message();
    const PacketView view = view_of(packet);
    Buffer out;
    if (!make_separate(view, Marker{}, message, kNoMtu, out)) continue;
    CAPTURE(to_hex(packet));
    ++made;
    const PacketView separate = view_of(out);
    if (is_plain(view)) CHECK(slow_verify(out));
    CHECK(separate.tuple() == view.tuple());
    CHECK(separate.ttl() == view.ttl());
    const Located located = locate(separate, Marker{});
    REQUIRE(located.found());
    CHECK(to_hex(located.room(separate)) == to_hex(message));
    if (view.is_udp()) {
      CHECK(is_separate(separate, message.size()));
      CHECK(separate.payload_size() == 0);
    } else {
      CHECK(separate.tcp_sequence() == view.tcp_sequence());
      CHECK(separate.tcp_acknowledgment() == view.tcp_acknowledgment());
      CHECK(separate.tcp_flags() == (view.tcp_flags() & ~(kTcpFin | kTcpPsh)));
      CHECK(is_separate(separate, message.size()) == ((view.tcp_flags() & (kTcpSyn | kTcpRst)) == 0));
    }
  }
  CHECK(made > 4000);
}

TEST_CASE("a packet with a wrong checksum does not get a right one") {
  RandomPackets random(53);
  const Buffer message = random.message();
  for (int i = 0; i < 4000; ++i) {
    Buffer packet = random.next();
    const PacketView sound = view_of(packet);
    const std::size_t field = sound.transport_offset() + (sound.is_tcp() ? 16 : 6);
    if (load_u16(packet, field) == 0 || !is_plain(sound)) continue;
    const auto off = static_cast<std::uint16_t>(1 + random.below(0xfffe));
    store_u16(packet, field, static_cast<std::uint16_t>(load_u16(packet, field) ^ off));
    if (load_u16(packet, field) == 0 || slow_verify(packet)) continue;
    const PacketView view = view_of(packet);
    Buffer with;
    if (!insert_inline(view, Marker{}, message, kNoMtu, with)) continue;
    CHECK_FALSE(slow_verify(with));
    Buffer separate;
    REQUIRE(make_separate(view, Marker{}, message, kNoMtu, separate));
    CHECK_FALSE(slow_verify(separate));
    if (load_u16(packet, field) == 0xffff) continue;  // comes back as 0, which means the same
    Buffer back;
    strip(view_of(with), locate(view_of(with), Marker{}), message.size(), back);
    CHECK(to_hex(back) == to_hex(packet));
  }
}

TEST_CASE("a routing header's final destination stays in the checksum") {
  // The checksum covers the address of the last hop, which is not the one in the IPv6 header: only a change relative to the
  // old checksum can be right.
  Buffer packet = tcp("[2001:db8::1]:1000", "[2001:db8::2]:80")
                      .extension(43,
                                 "02040100000000"
                                 "20010db8000000000000000000000099")
                      .data(5)
                      .build();
  const std::uint16_t checksum = 0x1234;
  store_u16(packet, view_of(packet).transport_offset() + 16, checksum);
  const Buffer message = pattern(40);
  Buffer with;
  REQUIRE(insert_inline(view_of(packet), Marker{}, message, kMtu, with));
  Buffer back;
  strip(view_of(with), locate(view_of(with), Marker{}), message.size(), back);
  CHECK(to_hex(back) == to_hex(packet));
}

TEST_CASE("[spec 3.4.1-1] a packet of exactly the MTU fits, one octet more does not") {
  RandomPackets random(59);
  for (int i = 0; i < 3000; ++i) {
    const Buffer packet = random.next();
    const Buffer message = random.message();
    const PacketView view = view_of(packet);
    Buffer out;
    for (const auto edit : {insert_inline, make_separate}) {
      out.clear();
      if (!edit(view, Marker{}, message, kNoMtu, out)) continue;
      const std::size_t size = out.size();
      out.clear();
      CHECK(outcome(edit(view, Marker{}, message, size, out)) == "done");
      out.clear();
      CHECK(outcome(edit(view, Marker{}, message, size - 1, out)) == "exceeds_mtu");
      CHECK(out.empty());
    }
  }
}

TEST_CASE("results are appended, and a refused edit appends nothing") {
  const Buffer packet = segment().data(7).build();
  const Buffer message = pattern(16);
  Buffer out = hex("aabb");
  REQUIRE(insert_inline(view_of(packet), Marker{}, message, kMtu, out));
  const Buffer with(out.begin() + 2, out.end());
  CHECK(to_hex(out).substr(0, 4) == "aabb");
  CHECK(slow_verify(with));
  Buffer again = hex("cc");
  strip(view_of(with), locate(view_of(with), Marker{}), 16, again);
  CHECK(to_hex(again) == "cc" + to_hex(packet));
  Buffer refused = hex("dd");
  CHECK(outcome(insert_inline(view_of(with), Marker{}, message, kMtu, refused)) == "has_message");
  CHECK(outcome(insert_inline(view_of(packet), Marker{}, message, 50, refused)) == "exceeds_mtu");
  CHECK(to_hex(refused) == "dd");
}

TEST_CASE("no packet grows beyond what an IP header can say") {
  const Buffer packet = segment().data(65000).build();
  const Buffer message = pattern(600);
  Buffer out;
  CHECK(outcome(insert_inline(view_of(packet), Marker{}, message, 100000, out)) == "exceeds_mtu");
  const Buffer datagram = udp("192.0.2.1:1", "192.0.2.2:2").data(65000).build();
  CHECK(outcome(insert_inline(view_of(datagram), Marker{}, message, 100000, out)) == "exceeds_mtu");
}

TEST_CASE("the marker goes to the front, and the options keep their order, EOL and padding") {
  const Buffer packet = segment().options("020405b4 00deadbe").data(3).build();
  Buffer with;
  REQUIRE(insert_inline(view_of(packet), Marker{}, pattern(16), kMtu, with));
  CHECK(to_hex(view_of(with).tcp_options()) == "fd044153020405b400deadbe");
  with.clear();
  REQUIRE(insert_inline(view_of(packet), Marker{77, 66, 0}, pattern(16), kMtu, with));
  CHECK(to_hex(view_of(with).tcp_options()) == "01014d02020405b400deadbe");
}

TEST_CASE("a foreign sender's marker is removed from where it is") {
  const auto options_after_strip = [](const char* options, const Marker& marker) {
    const Buffer packet = segment().options(options).data(16).build();
    const PacketView view = view_of(packet);
    Buffer out;
    strip(view, locate(view, marker), 16, out);
    CHECK(slow_verify(out));
    CHECK(view_of(out).payload_size() == 0);
    return to_hex(view_of(out).tcp_options());
  };
  CHECK(options_after_strip("020405b4fd044153", {}) == "020405b4");
  CHECK(options_after_strip("01fd0441530402 00", {}) == "01040200");
  CHECK(options_after_strip("4d020101020405b4", {77, 66, 0}) == "01010101020405b4");
  CHECK(options_after_strip("04024d02", {77, 66, 0}) == "04020101");
  CHECK(options_after_strip("0402014d020101 01", {77, 66, 0}) == "0402010101010101");
}

TEST_CASE("a segment without data takes a message only with SYN, FIN or RST") {
  for (int flags = 0; flags < 256; ++flags) {
    const auto bits = static_cast<std::uint8_t>(flags);
    Buffer out;
    const std::string expected = (flags & 0x07) != 0 ? "done" : "no_data";
    CHECK(outcome(insert_inline(view_of(segment().flags(bits).build()), Marker{}, pattern(16), kMtu, out)) == expected);
    CHECK(outcome(insert_inline(view_of(segment().flags(bits).data(1).build()), Marker{}, pattern(16), kMtu, out)) == "done");
  }
}

TEST_CASE("protected segments are never edited") {
  for (const char* options : {"01011312000102030405060708090a0b0c0d0e0f", "1d100102000102030405060708090a0b"}) {
    const Buffer packet = segment().options(options).data(5).build();
    Buffer out;
    CHECK(outcome(insert_inline(view_of(packet), Marker{}, pattern(16), kMtu, out)) == "protected_segment");
    CHECK(outcome(make_separate(view_of(packet), Marker{}, pattern(16), kMtu, out)) == "protected_segment");
    CHECK(out.empty());
  }
}

TEST_CASE("every reason has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i < 7; ++i) names.insert(to_string(static_cast<SurgeryError>(i)));
  CHECK(names.size() == 7);
  CHECK(to_string(SurgeryError::not_a_flow) == "not_a_flow");
  CHECK(to_string(static_cast<SurgeryError>(7)) == "?");
}
