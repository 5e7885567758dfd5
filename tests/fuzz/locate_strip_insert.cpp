// SPDX-License-Identifier: BSD-3-Clause
// Input: marker choice (and, top bit, whether to right the OCS, which mutation can't), message size, MTU, then a packet.
#include <algorithm>

#include "asrp/packet/build.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "fuzz/support/fuzz_target.hpp"
#include "support/reference.hpp"

namespace asrp::fuzz {
namespace {

using namespace asrp::packet;

constexpr Marker kMarkers[] = {{253, 127, 0x4153}, {254, 127, 0xeb9f}, {77, 66, 0}, {253, 200, 0}};

bool same_octets(Octets a, Octets b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// The reference knows packets without extension headers.
bool is_plain(const PacketView& view) { return !view.is_icmp() && view.transport_offset() <= (view.is_v4() ? 60U : 40U); }

/// No stack writes 0xffff into a TCP or IPv4 header checksum: it means the same as 0, and an edit turns it into that.
bool has_odd_zero(const PacketView& view) {
  const Octets packet = view.octets();
  return (view.is_v4() && load_u16(packet, 10) == 0xffff) ||
         (view.is_tcp() && load_u16(packet, view.transport_offset() + 16) == 0xffff);
}

void check_located(const PacketView& view, const Located& located) {
  FUZZ_CHECK(located.message_offset + located.message_room <= view.octets().size());
  FUZZ_CHECK(located.option_offset + located.option_size <= view.octets().size());
  FUZZ_CHECK(located.option_size >= 2);
  if (view.is_udp()) {
    FUZZ_CHECK(located.message_offset + located.message_room == located.option_offset + located.option_size);
  }
}

void check_strip(const PacketView& view, const Located& located, const Marker& marker, std::size_t message_size) {
  Buffer out;
  strip(view, located, std::min(message_size, located.message_room), out);
  const auto stripped = PacketView::parse(out);
  FUZZ_CHECK(stripped.has_value());
  FUZZ_CHECK(stripped->octets().size() == out.size());
  FUZZ_CHECK(stripped->tuple() == view.tuple());
  FUZZ_CHECK(!locate(*stripped, marker).found());
  if (is_plain(view) && !has_odd_zero(view)) FUZZ_CHECK(test::slow_verify(view.octets()) == test::slow_verify(out));
}

void check_insert(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu) {
  Buffer out;
  if (!insert_inline(view, marker, message, mtu, out)) {
    FUZZ_CHECK(out.empty());
    return;
  }
  FUZZ_CHECK(out.size() <= mtu);
  const auto with = PacketView::parse(out);
  FUZZ_CHECK(with.has_value());
  const Located located = locate(*with, marker);
  FUZZ_CHECK(located.found());
  FUZZ_CHECK(located.message_room >= message.size());
  FUZZ_CHECK(same_octets(located.room(*with).first(message.size()), message));
  FUZZ_CHECK(!is_separate(*with, message.size()));
  if (has_odd_zero(view)) return;
  if (is_plain(view)) FUZZ_CHECK(test::slow_verify(view.octets()) == test::slow_verify(out));
  Buffer back;
  strip(*with, located, message.size(), back);
  FUZZ_CHECK(same_octets(back, view.octets()));
}

void check_separate(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu) {
  Buffer out;
  if (!make_separate(view, marker, message, mtu, out)) {
    FUZZ_CHECK(out.empty());
    return;
  }
  FUZZ_CHECK(out.size() <= mtu);
  const auto separate = PacketView::parse(out);
  FUZZ_CHECK(separate.has_value());
  FUZZ_CHECK(separate->tuple() == view.tuple());
  const Located located = locate(*separate, marker);
  FUZZ_CHECK(located.found());
  FUZZ_CHECK(same_octets(located.room(*separate), message));
  const bool opens_or_ends = view.is_tcp() && (view.tcp_flags() & (kTcpSyn | kTcpRst)) != 0;
  FUZZ_CHECK(is_separate(*separate, message.size()) == !opens_or_ends);
}

void check_others(const PacketView& view) {
  static_cast<void>(quoted_tuple(view));
  Buffer reset;
  if (build_reset(view, reset)) {
    const auto parsed = PacketView::parse(reset);
    FUZZ_CHECK(parsed.has_value());
    FUZZ_CHECK(parsed->tuple() == view.tuple().reversed());
    FUZZ_CHECK(test::slow_verify(reset));
  }
  Buffer copy(view.octets().begin(), view.octets().end());
  const bool lives = view.ttl() > 1;
  FUZZ_CHECK(decrement_ttl(copy) == lives);
  FUZZ_CHECK(PacketView::parse(copy)->ttl() == view.ttl() - (lives ? 1 : 0));
}

void right_ocs(MutableOctets packet) {
  const auto view = PacketView::parse(packet);
  if (!view || !view->is_udp()) return;
  const std::size_t surplus = view->payload_offset() + view->payload_size();
  const std::size_t pad = view->payload_size() % 2;
  if (view->surplus().size() < pad + 2) return;
  const MutableOctets from_ocs = packet.first(view->octets().size()).subspan(surplus + pad);
  store_u16(from_ocs, 0, option_checksum(from_ocs, view->surplus().size()));
}

}  // namespace

int one_input(Octets input) {
  Reader reader(input);
  const std::uint8_t choice = reader.u8();
  const Marker& marker = kMarkers[choice % 4];
  const Buffer message(reader.u8(), 0x5a);
  const std::size_t mtu = reader.u16();
  Buffer packet(reader.rest().begin(), reader.rest().end());
  if ((choice & 0x80) != 0) right_ocs(packet);
  const auto view = PacketView::parse(packet);
  if (!view) return 0;
  FUZZ_CHECK(view->octets().size() <= packet.size());
  FUZZ_CHECK(view->payload_offset() + view->payload_size() + view->surplus().size() == view->octets().size());
  check_others(*view);
  const Located located = locate(*view, marker);
  if (located.found()) {
    check_located(*view, located);
    check_strip(*view, located, marker, message.size());
  } else {
    check_insert(*view, marker, message, mtu);
  }
  check_separate(*view, marker, message, mtu);
  return 0;
}

}  // namespace asrp::fuzz
