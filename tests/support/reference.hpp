// SPDX-License-Identifier: BSD-3-Clause
// Checksums written down as the RFCs describe them, one word at a time and from nothing but the packet. Tests compare the
// library with these; nothing in here uses the library's own arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp::test {

/// RFC 1071, literally: 16-bit words, the carry added after each.
inline std::uint32_t slow_sum(Octets octets, std::uint32_t sum = 0) {
  for (std::size_t i = 0; i < octets.size(); i += 2) {
    const std::uint32_t low = i + 1 < octets.size() ? octets[i + 1] : 0;
    sum += std::uint32_t{octets[i]} * 256 + low;
    if (sum > 0xffff) sum -= 0xffff;
  }
  return sum;
}

/// Sum over pseudo header and `length` octets at `transport`. Right checksums make it 0xffff.
inline std::uint32_t slow_transport_sum(Octets packet, std::size_t transport, std::size_t length, std::uint8_t protocol) {
  const bool is_v4 = packet[0] >> 4 == 4;
  const Octets addresses = is_v4 ? packet.subspan(12, 8) : packet.subspan(8, 32);
  const std::uint8_t rest[] = {0, protocol, static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)};
  return slow_sum(packet.subspan(transport, length), slow_sum(rest, slow_sum(addresses)));
}

/// Every checksum of a packet without extension headers is right: IPv4 header, TCP or UDP (0 = none, on IPv4), and OCS if there
/// is a surplus area with a non-zero one.
inline bool slow_verify(Octets packet) {
  const bool is_v4 = packet[0] >> 4 == 4;
  const std::size_t transport = is_v4 ? std::size_t{4} * (packet[0] & 0xf) : 40;
  const std::size_t total = is_v4 ? load_u16(packet, 2) : std::size_t{40} + load_u16(packet, 4);
  if (total != packet.size()) return false;
  if (is_v4 && slow_sum(packet.first(transport)) != 0xffff) return false;
  const std::uint8_t protocol = packet[is_v4 ? 9 : 6];
  if (protocol == 6) return slow_transport_sum(packet, transport, total - transport, protocol) == 0xffff;
  const std::size_t length = load_u16(packet, transport + 4);
  const bool has_none = load_u16(packet, transport + 6) == 0;
  if (has_none && !is_v4) return false;
  if (!has_none && slow_transport_sum(packet, transport, length, protocol) != 0xffff) return false;
  const Octets surplus = packet.subspan(transport + length);
  const Octets aligned = surplus.subspan(surplus.empty() ? 0 : length % 2);
  if (aligned.size() < 2 || (has_none && load_u16(aligned, 0) == 0)) return true;
  return slow_sum(aligned, static_cast<std::uint32_t>(surplus.size())) == 0xffff;
}

}  // namespace asrp::test
