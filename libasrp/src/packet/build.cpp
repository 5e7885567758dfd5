// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/build.hpp"

#include <algorithm>

#include "asrp/base/assert.hpp"
#include "asrp/packet/checksum.hpp"

namespace asrp::packet {
namespace {

constexpr std::uint8_t kTtl = 64;
constexpr std::size_t kMaxPayload = 65000;
constexpr std::size_t kIcmpErrorSize = 576;     // RFC 1812 4.3.2.3
constexpr std::size_t kIcmpv6ErrorSize = 1280;  // RFC 4443 2.4
constexpr std::uint16_t kDontFragment = 0x4000;

/// Appends an IP header; lengths and the IPv4 checksum are for finish_packet(). Returns the transport header's offset in the
/// packet.
std::size_t append_ip_header(const IpAddress& src, const IpAddress& dst, Protocol protocol, std::uint16_t fragment,
                             ByteWriter& out) {
  ASRP_ASSERT(src.family() == dst.family());
  if (src.is_v4()) {
    out.u16(0x4500);
    out.zeros(4);  // total length, identification
    out.u16(fragment);
    out.u8(kTtl);
    out.u8(static_cast<std::uint8_t>(protocol));
    out.zeros(2);
  } else {
    out.u32(0x60000000);
    out.zeros(2);
    out.u8(static_cast<std::uint8_t>(protocol));
    out.u8(kTtl);
  }
  out.octets(src.octets());
  out.octets(dst.octets());
  return src.is_v4() ? 20 : 40;
}

struct ResetNumbers {
  std::uint32_t sequence;
  std::uint32_t acknowledgment;
  std::uint8_t flags;
};

ResetNumbers reset_numbers(const PacketView& segment) {
  if ((segment.tcp_flags() & kTcpAck) != 0) return {segment.tcp_acknowledgment(), 0, kTcpRst};
  std::uint32_t length = static_cast<std::uint32_t>(segment.payload_size());
  if ((segment.tcp_flags() & kTcpSyn) != 0) ++length;
  if ((segment.tcp_flags() & kTcpFin) != 0) ++length;
  return {0, segment.tcp_sequence() + length, kTcpRst | kTcpAck};
}

}  // namespace

void build_datagram(const Endpoint& from, const Endpoint& to, Octets payload, Buffer& out) {
  ASRP_ASSERT(payload.size() < kMaxPayload);
  const std::size_t start = out.size();
  ByteWriter writer(out);
  const std::size_t transport = append_ip_header(from.address, to.address, Protocol::udp, 0, writer);
  writer.u16(from.port);
  writer.u16(to.port);
  writer.u16(static_cast<std::uint16_t>(8 + payload.size()));
  writer.u16(0);
  writer.octets(payload);
  const MutableOctets packet = MutableOctets(out).subspan(start);
  const MutableOctets datagram = packet.subspan(transport);
  store_u16(datagram, 6, transport_checksum(from.address, to.address, Protocol::udp, datagram));
  finish_packet(packet, transport, Protocol::udp);
}

bool build_reset(const PacketView& segment, Buffer& out) {
  if (!segment.is_tcp() || (segment.tcp_flags() & kTcpRst) != 0) return false;
  const Tuple reply = segment.tuple().reversed();
  const ResetNumbers numbers = reset_numbers(segment);
  const std::size_t start = out.size();
  ByteWriter writer(out);
  const std::size_t transport = append_ip_header(reply.src.address, reply.dst.address, Protocol::tcp, kDontFragment, writer);
  writer.u16(reply.src.port);
  writer.u16(reply.dst.port);
  writer.u32(numbers.sequence);
  writer.u32(numbers.acknowledgment);
  writer.u8(0x50);  // five words, no options
  writer.u8(numbers.flags);
  writer.zeros(6);  // window, checksum, urgent pointer
  finish_packet(MutableOctets(out).subspan(start), transport, Protocol::tcp);
  return true;
}

void build_prohibited(const PacketView& packet, const IpAddress& from, Buffer& out) {
  ASRP_ASSERT(packet.family() == from.family());
  const bool is_v4 = packet.is_v4();
  const Protocol protocol = is_v4 ? Protocol::icmp : Protocol::icmpv6;
  const IpAddress& to = packet.tuple().src.address;
  const std::size_t start = out.size();
  ByteWriter writer(out);
  const std::size_t transport = append_ip_header(from, to, protocol, 0, writer);
  writer.u16(is_v4 ? 0x030d : 0x0101);
  writer.zeros(6);  // checksum, unused
  const std::size_t room = (is_v4 ? kIcmpErrorSize : kIcmpv6ErrorSize) - transport - 8;
  writer.octets(packet.octets().first(std::min(packet.octets().size(), room)));
  const MutableOctets whole = MutableOctets(out).subspan(start);
  const MutableOctets error = whole.subspan(transport);
  std::uint16_t sum = 0;
  if (!is_v4) {  // ICMPv6 has a pseudo-header (RFC 4443 2.3)
    sum = ones_sum(to.octets(), ones_sum(from.octets()));
    sum = ones_add(sum, static_cast<std::uint16_t>(error.size()));
    sum = ones_add(sum, static_cast<std::uint16_t>(protocol));
  }
  store_u16(error, 2, static_cast<std::uint16_t>(~ones_sum(error, sum)));
  finish_packet(whole, transport, protocol);
}

}  // namespace asrp::packet
