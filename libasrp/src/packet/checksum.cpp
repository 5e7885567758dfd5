// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/checksum.hpp"

#include <bit>
#include <cstring>

#include "asrp/base/assert.hpp"

namespace asrp::packet {
namespace {

constexpr std::size_t kTcpChecksumAt = 16;
constexpr std::size_t kUdpChecksumAt = 6;

std::uint16_t fold(std::uint64_t sum) {
  while ((sum >> 16) != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(sum);
}

constexpr std::uint16_t swapped(std::uint16_t v) { return static_cast<std::uint16_t>(v << 8 | v >> 8); }

/// Sum of words in memory order: RFC 1071 shows that the order of octets may be mended after summing.
std::uint64_t native_sum(Octets octets) {
  const std::uint8_t* at = octets.data();
  std::size_t left = octets.size();
  std::uint64_t sum = 0;  // of 32-bit halves: no overflow below 2^32 of them
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    sum += (word & 0xffffffff) + (word >> 32);
  }
  if (left != 0) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, left);
    sum += (word & 0xffffffff) + (word >> 32);
  }
  return sum;
}

std::uint16_t pseudo_header_sum(const IpAddress& src, const IpAddress& dst, Protocol protocol, std::size_t length) {
  std::uint16_t sum = ones_sum(dst.octets(), ones_sum(src.octets()));
  sum = ones_add(sum, static_cast<std::uint16_t>(protocol));
  return ones_add(sum, fold(length));
}

}  // namespace

std::uint16_t ones_add(std::uint16_t a, std::uint16_t b) {
  const std::uint32_t sum = std::uint32_t{a} + b;
  return static_cast<std::uint16_t>((sum & 0xffff) + (sum >> 16));
}

std::uint16_t ones_sum(Octets octets, std::uint16_t start) {
  const std::uint16_t sum = fold(native_sum(octets));
  return ones_add(start, std::endian::native == std::endian::little ? swapped(sum) : sum);
}

std::uint16_t ipv4_header_checksum(Octets header) {
  return static_cast<std::uint16_t>(~ones_sum(header.subspan(12), ones_sum(header.first(10))));
}

std::uint16_t transport_checksum(const IpAddress& src, const IpAddress& dst, Protocol protocol, Octets transport) {
  ASRP_ASSERT(protocol == Protocol::tcp || protocol == Protocol::udp);
  const std::size_t field = protocol == Protocol::tcp ? kTcpChecksumAt : kUdpChecksumAt;
  std::uint16_t sum = pseudo_header_sum(src, dst, protocol, transport.size());
  sum = ones_sum(transport.first(field), sum);
  sum = ones_sum(transport.subspan(field + 2), sum);
  const auto checksum = static_cast<std::uint16_t>(~sum);
  return checksum == 0 && protocol == Protocol::udp ? std::uint16_t{0xffff} : checksum;
}

std::uint16_t checksum_update(std::uint16_t checksum, std::uint16_t from, std::uint16_t to) {
  const std::uint16_t without = ones_add(static_cast<std::uint16_t>(~checksum), static_cast<std::uint16_t>(~from));
  return static_cast<std::uint16_t>(~ones_add(without, to));
}

std::uint16_t option_checksum(Octets from_ocs, std::size_t surplus_length) {
  const std::uint16_t sum = ones_sum(from_ocs.subspan(2), fold(surplus_length));
  const auto checksum = static_cast<std::uint16_t>(~sum);
  return checksum == 0 ? std::uint16_t{0xffff} : checksum;
}

void finish_packet(MutableOctets packet, std::size_t transport_offset, Protocol protocol) {
  const bool is_v4 = packet[0] >> 4 == 4;
  if (is_v4) {
    const std::size_t header_size = std::size_t{4} * (packet[0] & 0xf);
    store_u16(packet, 2, static_cast<std::uint16_t>(packet.size()));
    store_u16(packet, 10, ipv4_header_checksum(packet.first(header_size)));
  } else {
    store_u16(packet, 4, static_cast<std::uint16_t>(packet.size() - 40));
  }
  if (protocol != Protocol::tcp) return;
  const IpAddress src = is_v4 ? IpAddress::v4(packet.subspan(12, 4)) : IpAddress::v6(packet.subspan(8, 16));
  const IpAddress dst = is_v4 ? IpAddress::v4(packet.subspan(16, 4)) : IpAddress::v6(packet.subspan(24, 16));
  const MutableOctets transport = packet.subspan(transport_offset);
  store_u16(transport, kTcpChecksumAt, transport_checksum(src, dst, protocol, transport));
}

bool decrement_ttl(MutableOctets packet) {
  const bool is_v4 = packet[0] >> 4 == 4;
  const std::size_t field = is_v4 ? 8 : 7;
  if (packet[field] <= 1) return false;
  const std::uint16_t before = load_u16(packet, 8);
  --packet[field];
  if (is_v4) store_u16(packet, 10, checksum_update(load_u16(packet, 10), before, load_u16(packet, 8)));
  return true;
}

}  // namespace asrp::packet
