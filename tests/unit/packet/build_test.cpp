// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/build.hpp"

#include <doctest/doctest.h>

#include "asrp/packet/checksum.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

Buffer datagram(const char* from, const char* to, Octets payload) {
  Buffer out;
  build_datagram(endpoint(from), endpoint(to), payload, out);
  return out;
}

PacketView view_of(Octets packet) {
  const auto view = PacketView::parse(packet);
  REQUIRE(view);
  return *view;
}

struct Reset {
  bool made;
  std::uint8_t flags;
  std::uint32_t sequence;
  std::uint32_t acknowledgment;
};

Reset reset_for(const TcpBuilder& segment) {
  const Buffer packet = segment.build();
  Buffer out;
  if (!build_reset(view_of(packet), out)) {
    CHECK(out.empty());
    return {false, 0, 0, 0};
  }
  CHECK(slow_verify(out));
  const PacketView reset = view_of(out);
  CHECK(reset.tuple() == view_of(packet).tuple().reversed());
  CHECK(reset.payload_size() == 0);
  return {true, reset.tcp_flags(), reset.tcp_sequence(), reset.tcp_acknowledgment()};
}

TcpBuilder segment() { return tcp("192.0.2.1:1000", "198.51.100.1:80").seq(0xfffffff0).ack(5000); }

}  // namespace

TEST_CASE("a datagram is a plain packet with all its checksums") {
  for (const std::size_t size : {0U, 1U, 16U, 17U, 40U, 1400U, 64999U}) {
    CAPTURE(size);
    const Buffer payload = pattern(size);
    for (const bool is_v4 : {true, false}) {
      const char* from = is_v4 ? "192.0.2.1:51200" : "[2001:db8::1]:51200";
      const char* to = is_v4 ? "192.0.2.2:49152" : "[2001:db8::2]:49152";
      const Buffer packet = datagram(from, to, payload);
      CHECK(slow_verify(packet));
      const PacketView view = view_of(packet);
      CHECK(view.tuple() == udp_tuple(from, to));
      CHECK(to_hex(view.payload()) == to_hex(payload));
      CHECK(view.surplus().empty());
      CHECK(view.ttl() == 64);
      CHECK(view.dont_fragment() == !is_v4);
      CHECK(load_u16(packet, view.transport_offset() + 6) != 0);
    }
  }
}

TEST_CASE("a datagram whose checksum would be 0 carries ffff") {
  int seen = 0;
  for (unsigned word = 0; word <= 0xffff; ++word) {
    Buffer payload(2);
    store_u16(payload, 0, static_cast<std::uint16_t>(word));
    const Buffer packet = datagram("[2001:db8::1]:51200", "[2001:db8::2]:51200", payload);
    if (load_u16(packet, 46) != 0xffff) continue;
    ++seen;
    CHECK(slow_verify(packet));
  }
  CHECK(seen >= 1);
}

TEST_CASE("building appends") {
  Buffer out = hex("aabb");
  build_datagram(endpoint("192.0.2.1:1"), endpoint("192.0.2.2:2"), {}, out);
  CHECK(out.size() == 30);
  CHECK(to_hex(Octets(out).first(3)) == "aabb45");
}

TEST_CASE("a reset takes its numbers from the segment as RFC 9293 says") {
  SUBCASE("a segment with ACK names the sequence number that will be believed") {
    for (const int flags : {0x10, 0x12, 0x18, 0x11}) {
      const Reset reset = reset_for(segment().flags(static_cast<std::uint8_t>(flags)).data(10));
      CHECK(reset.made);
      CHECK(reset.flags == kTcpRst);
      CHECK(reset.sequence == 5000);
    }
  }
  SUBCASE("one without is acknowledged, SYN, FIN and data counted, around the wrap") {
    const Reset syn = reset_for(segment().flags(kTcpSyn));
    CHECK(syn.flags == (kTcpRst | kTcpAck));
    CHECK(syn.sequence == 0);
    CHECK(syn.acknowledgment == 0xfffffff1);
    CHECK(reset_for(segment().flags(kTcpSyn).data(20)).acknowledgment == 5);
    CHECK(reset_for(segment().flags(kTcpFin).data(16)).acknowledgment == 1);
    CHECK(reset_for(segment().flags(0).data(1)).acknowledgment == 0xfffffff1);
  }
  SUBCASE("a reset is never answered") {
    CHECK_FALSE(reset_for(segment().flags(kTcpRst)).made);
    CHECK_FALSE(reset_for(segment().flags(kTcpRst | kTcpAck)).made);
  }
}

TEST_CASE("a reset over IPv6, and none for what is no segment") {
  CHECK(reset_for(tcp("[2001:db8::1]:1000", "[2001:db8::2]:80").ack(7)).sequence == 7);
  const Buffer packet = udp("192.0.2.1:1000", "198.51.100.1:80").data(4).build();
  Buffer out;
  CHECK_FALSE(build_reset(view_of(packet), out));
  CHECK(out.empty());
}

TEST_CASE("an ICMP error \"administratively prohibited\" quotes the packet, and has right checksums") {
  const auto check = [](const Buffer& packet, std::string_view from, std::size_t size) {
    const auto view = PacketView::parse(packet);
    REQUIRE(view);
    Buffer out{1, 2, 3};  // appended
    build_prohibited(*view, address(from), out);
    const Buffer error(out.begin() + 3, out.end());
    CHECK(error.size() == size);
    const auto icmp = PacketView::parse(error);
    REQUIRE(icmp);
    CHECK(icmp->tuple().src.address == address(from));
    CHECK(icmp->tuple().dst.address == view->tuple().src.address);
    CHECK(quoted_tuple(*icmp) == view->tuple());
    const Octets transport = Octets(error).subspan(icmp->transport_offset());
    CHECK(transport[0] == (icmp->is_v4() ? 3 : 1));
    CHECK(transport[1] == (icmp->is_v4() ? 13 : 1));
    std::uint16_t sum = 0;
    if (icmp->is_v4()) {
      CHECK(ones_sum(Octets(error).first(20)) == 0xffff);
    } else {
      sum = ones_sum(icmp->tuple().dst.address.octets(), ones_sum(icmp->tuple().src.address.octets()));
      sum = ones_add(sum, static_cast<std::uint16_t>(transport.size()));
      sum = ones_add(sum, 58);
    }
    CHECK(ones_sum(transport, sum) == 0xffff);
  };
  check(tcp("10.0.0.1:5000", "198.51.100.1:80").syn().build(), "192.0.2.10", 20 + 8 + 40);
  check(tcp("10.0.0.1:5000", "198.51.100.1:80").syn().data(1201).build(), "192.0.2.10", 576);
  check(udp("[fd00::1]:5000", "[2001:db8::1]:80").data(9).build(), "2001:db8:10::10", 40 + 8 + 40 + 8 + 9);
  check(udp("[fd00::1]:5000", "[2001:db8::1]:80").data(1400).build(), "2001:db8:10::10", 1280);
}
