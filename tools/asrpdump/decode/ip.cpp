// SPDX-License-Identifier: BSD-3-Clause
#include "decode/ip.hpp"

#include <algorithm>

#include "asrp/base/limits.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kIpv4HeaderSize = 20;
constexpr std::size_t kIpv6HeaderSize = 40;
constexpr std::size_t kMaxLength = 65535;  // that a length field can say
constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kNoNextHeader = 59;
constexpr std::uint8_t kDestination = 60;

Result<IpParts, IpError> v4_parts(Octets octets, std::size_t on_wire) {
  if (octets.size() < kIpv4HeaderSize) return Failure{IpError::cut};
  IpParts parts;
  parts.total = load_u16(octets, 2);
  parts.is_without_length = parts.total == 0;
  if (parts.is_without_length) parts.total = std::min(on_wire, kMaxLength);
  parts.transport = std::size_t{4} * (octets[0] & 0xf);
  if (parts.transport < kIpv4HeaderSize || parts.transport > parts.total) return Failure{IpError::damaged};
  parts.protocol_offset = 9;
  parts.protocol = octets[9];
  const std::uint16_t fragment = load_u16(octets, 6);
  parts.is_fragment = (fragment & 0x3fff) != 0;
  parts.more_fragments = (fragment & 0x2000) != 0;
  parts.fragment_offset = std::size_t{8} * (fragment & 0x1fff);
  parts.fragment_id = load_u16(octets, 4);
  if (parts.is_fragment && parts.is_without_length) return Failure{IpError::damaged};
  return parts;
}

bool is_extension(std::uint8_t next) {
  return next == kHopByHop || next == kRouting || next == kFragment || next == kAuthentication || next == kDestination;
}

std::size_t extension_size(std::uint8_t next, std::uint8_t length) {
  if (next == kFragment) return 8;
  return next == kAuthentication ? std::size_t{4} * (length + std::size_t{2}) : std::size_t{8} * (length + std::size_t{1});
}

void read_fragment_header(Octets header, IpParts& parts) {
  const std::uint16_t field = load_u16(header, 2);
  if ((field & 0xfff9) == 0) return;
  parts.is_fragment = true;
  parts.more_fragments = (field & 1) != 0;
  parts.fragment_offset = field & 0xfff8;
  parts.fragment_id = load_u32(header, 4);
  parts.fragment_header = parts.transport;
  parts.fragment_next_field = parts.protocol_offset;
}

/// The length of a jumbogram (RFC 2675) is the frame's too: no link adds padding to one.
Result<IpParts, IpError> v6_parts(Octets octets, std::size_t on_wire) {
  if (octets.size() < kIpv6HeaderSize) return Failure{IpError::cut};
  IpParts parts;
  parts.family = Family::v6;
  parts.protocol_offset = 6;
  parts.protocol = octets[6];
  parts.transport = kIpv6HeaderSize;
  parts.total = kIpv6HeaderSize + load_u16(octets, 4);
  parts.is_without_length = parts.total == kIpv6HeaderSize && parts.protocol != kNoNextHeader && on_wire > parts.total;
  if (parts.is_without_length) parts.total = std::min(on_wire, kIpv6HeaderSize + kMaxLength);
  octets = octets.first(std::min(octets.size(), parts.total));
  for (std::size_t headers = 0; headers < kMaxExtensionHeaders && is_extension(parts.protocol); ++headers) {
    if (parts.total - parts.transport < 8) return Failure{IpError::damaged};
    if (octets.size() < parts.transport + 8) return Failure{IpError::cut};
    const Octets header = octets.subspan(parts.transport);
    const std::size_t size = extension_size(parts.protocol, header[1]);
    if (size > parts.total - parts.transport) return Failure{IpError::damaged};
    if (parts.protocol == kFragment) read_fragment_header(header, parts);
    parts.protocol_offset = parts.transport;
    parts.protocol = header[0];
    parts.transport += size;
    if (parts.is_fragment && parts.is_without_length) return Failure{IpError::damaged};
    if (parts.is_fragment) break;
    if (parts.transport > octets.size()) return Failure{IpError::cut};
  }
  return parts;
}

}  // namespace

Result<IpParts, IpError> ip_parts(Octets octets, std::size_t on_wire) {
  if (octets.empty()) return Failure{IpError::cut};
  switch (octets[0] >> 4) {
    case 4:
      return v4_parts(octets, on_wire);
    case 6:
      return v6_parts(octets, on_wire);
    default:
      return Failure{IpError::damaged};
  }
}

void fill_in_length(Buffer& packet) {
  const bool is_v4 = packet[0] >> 4 == 4;
  store_u16(packet, is_v4 ? 2 : 4, static_cast<std::uint16_t>(packet.size() - (is_v4 ? 0 : kIpv6HeaderSize)));
}

}  // namespace asrp::dump
