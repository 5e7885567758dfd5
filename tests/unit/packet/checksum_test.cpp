// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/checksum.hpp"

#include <doctest/doctest.h>

#include <random>

#include "asrp/packet/packet_view.hpp"
#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

TEST_CASE("ones_sum agrees with the literal sum for all lengths, alignments and contents") {
  RandomPackets random(7);
  for (std::size_t length = 0; length < 200; ++length) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      Buffer buffer = random.octets(offset + length);
      if (random.chance(8)) std::fill(buffer.begin(), buffer.end(), 0xff);
      if (random.chance(8)) std::fill(buffer.begin(), buffer.end(), 0x00);
      const Octets octets = Octets(buffer).subspan(offset);
      const auto start = static_cast<std::uint16_t>(random.below(0x10000));
      CHECK(ones_sum(octets) == slow_sum(octets));
      CHECK(ones_sum(octets, start) == slow_sum(octets, start));
    }
  }
  const Buffer large(65535, 0xff);
  CHECK(ones_sum(large) == slow_sum(large));
}

TEST_CASE("sums of the RFC 1071 example") {
  CHECK(ones_sum(hex("0001f203f4f5f6f7")) == 0xddf2);
  CHECK(ones_sum(hex("01")) == 0x0100);
  CHECK(ones_add(0xffff, 0x0001) == 0x0001);
  CHECK(ones_add(0xffff, 0xffff) == 0xffff);
}

TEST_CASE("IPv4 header checksum skips its own field") {
  CHECK(ipv4_header_checksum(hex("450000730000400040110000c0a80001c0a800c7")) == 0xb861);
  CHECK(ipv4_header_checksum(hex("450000730000400040111234c0a80001c0a800c7")) == 0xb861);
  CHECK(ipv4_header_checksum(hex("450000730000400040111234c0a80001c0a800c7 00000000")) == 0xb861);
}

TEST_CASE("transport checksums of packets that a literal computation made") {
  RandomPackets random(11);
  for (int i = 0; i < 3000; ++i) {
    const Buffer packet = random.next();
    const auto view = PacketView::parse(packet);
    REQUIRE(view);
    const Octets transport = view->octets().subspan(view->transport_offset());
    const std::size_t field = view->is_tcp() ? 16 : 6;
    const std::size_t covered = view->is_tcp() ? transport.size() : load_u16(transport, 4);
    const std::uint16_t there = load_u16(transport, field);
    if (view->is_udp() && there == 0) continue;
    const Tuple& tuple = view->tuple();
    CHECK(transport_checksum(tuple.src.address, tuple.dst.address, view->protocol(), transport.first(covered)) == there);
  }
}

TEST_CASE("a checksum of 0 goes out as ffff on UDP and as 0 on TCP") {
  const IpAddress src = address("192.0.2.1");
  const IpAddress dst = address("192.0.2.2");
  int zeros = 0;
  for (unsigned word = 0; word <= 0xffff; ++word) {
    Buffer udp = hex("00010002000a0000 0000");
    store_u16(udp, 8, static_cast<std::uint16_t>(word));
    const std::uint16_t udp_checksum = transport_checksum(src, dst, Protocol::udp, udp);
    CHECK(udp_checksum != 0);
    Buffer tcp = hex("00010002 00000000 00000000 50100000 00000000 0000");
    store_u16(tcp, 20, static_cast<std::uint16_t>(word));
    const std::uint16_t tcp_checksum = transport_checksum(src, dst, Protocol::tcp, tcp);
    CHECK(tcp_checksum != 0xffff);
    zeros += (udp_checksum == 0xffff) + (tcp_checksum == 0);
  }
  CHECK(zeros == 2);  // one word in 65 536 each
}

TEST_CASE("checksum_update gives what a new computation gives") {
  RandomPackets random(13);
  for (int i = 0; i < 20000; ++i) {
    Buffer header = random.octets(20);
    header[0] = 0x45;
    store_u16(header, 10, ipv4_header_checksum(header));
    const std::size_t field = 2 * random.below(10);
    if (field == 0 || field == 10) continue;
    const auto to = static_cast<std::uint16_t>(random.chance(4) ? 0 : random.chance(4) ? 0xffff : random.below(0x10000));
    const std::uint16_t from = load_u16(header, field);
    const std::uint16_t updated = checksum_update(load_u16(header, 10), from, to);
    store_u16(header, field, to);
    CHECK(updated == ipv4_header_checksum(header));
  }
}

TEST_CASE("OCS counts the length of the surplus area, pad octet included") {
  const Buffer option = hex("0000 7f1441530005000000100011a1b2c3d400000000");
  CHECK(option_checksum(option, 22) == 0xd9d4);
  CHECK(option_checksum(option, 23) == 0xd9d3);
  CHECK(option_checksum(hex("1234 7f1441530005000000100011a1b2c3d400000000"), 22) == 0xd9d4);  // its own field is skipped
  CHECK(option_checksum(hex("0000 7f1441530005000000100011a1b2c3d4000000000000"), 25) == 0xd9d1);
  CHECK(option_checksum(hex("0000 017f1441530005000000100011a1b2c3d400000000"), 23) == 0xe9c2);
  CHECK(option_checksum(hex("0000 7f0641533f9e"), 8) == 0xffff);  // 0 would mean "unused"
}

TEST_CASE("with a right OCS a checksum over the whole IP payload is the UDP checksum") {
  RandomPackets random(17);
  for (int i = 0; i < 2000; ++i) {
    const bool is_v4 = random.chance(2);
    const Tuple tuple = is_v4 ? udp_tuple("192.0.2.1:7", "192.0.2.2:8") : udp_tuple("[2001:db8::1]:7", "[2001:db8::2]:8");
    UdpBuilder builder = udp(tuple);
    builder.payload(random.octets(random.below(40))).options(random.octets(random.below(40)));
    const Buffer packet = builder.build();
    const std::size_t transport = is_v4 ? 20 : 40;
    CHECK(slow_transport_sum(packet, transport, packet.size() - transport, 17) == 0xffff);
  }
}

TEST_CASE("[spec 4.2.1-2] finish_packet mends lengths and checksums after any change of size") {
  RandomPackets random(19);
  for (int i = 0; i < 2000; ++i) {
    Buffer packet = random.next_tcp(random.random_tuple());
    const std::size_t transport = PacketView::parse(packet)->transport_offset();
    const Buffer more = random.octets(random.below(50));
    packet.insert(packet.end(), more.begin(), more.end());
    store_u16(packet, packet[0] >> 4 == 4 ? 2 : 4, static_cast<std::uint16_t>(random.below(0x10000)));
    finish_packet(packet, transport, Protocol::tcp);
    const auto view = PacketView::parse(packet);
    REQUIRE(view);
    CHECK(view->octets().size() == packet.size());
    if (transport == (view->is_v4() ? 4U * (packet[0] & 15) : 40U)) CHECK(slow_verify(packet));
  }
}

TEST_CASE("decrement_ttl takes one off and never reaches 0") {
  for (int ttl = 0; ttl < 256; ++ttl) {
    for (const char* src : {"192.0.2.1:1000", "[2001:db8::1]:1000"}) {
      const bool is_v4 = src[0] != '[';
      const Buffer before =
          udp(src, is_v4 ? "198.51.100.1:53" : "[2001:db8::2]:53").ttl(static_cast<std::uint8_t>(ttl)).build();
      Buffer packet = before;
      CHECK(decrement_ttl(packet) == (ttl > 1));
      CHECK(slow_verify(packet));
      if (ttl > 1) {
        CHECK(PacketView::parse(packet)->ttl() == ttl - 1);
      } else {
        CHECK(packet == before);
      }
    }
  }
}
