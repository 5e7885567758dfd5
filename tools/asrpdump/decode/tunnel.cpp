// SPDX-License-Identifier: BSD-3-Clause
#include "decode/tunnel.hpp"

#include "decode/link.hpp"

namespace asrp::dump {
namespace {

constexpr std::uint8_t kIpv4InIp = 4;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint8_t kIpv6InIp = 41;
constexpr std::uint8_t kGre = 47;
constexpr std::uint16_t kVxlanPort = 4789;
constexpr std::uint16_t kVxlanLinuxPort = 8472;  // what Linux takes when it isn't told
constexpr std::uint16_t kGenevePort = 6081;

Octets ip_only(const LinkResult& found) { return found.status == LinkStatus::ip ? found.ip : Octets{}; }

Octets in_ip(Octets payload, int version) { return !payload.empty() && payload[0] >> 4 == version ? payload : Octets{}; }

Octets in_gre(Octets payload) {
  constexpr std::uint16_t kChecksum = 0x8000, kRouting = 0x4000, kKey = 0x2000, kSequence = 0x1000, kVersion = 0x0007;
  constexpr std::uint16_t kErspan = 0x88be;
  if (payload.size() < 4) return {};
  const std::uint16_t flags = load_u16(payload, 0);
  const std::uint16_t type = load_u16(payload, 2);
  if ((flags & (kRouting | kVersion)) != 0) return {};
  std::size_t size = 4;
  for (const std::uint16_t flag : {kChecksum, kKey, kSequence}) size += (flags & flag) != 0 ? 4 : 0;
  const bool is_erspan = type == kErspan;
  if (is_erspan && (flags & kSequence) != 0) size += 8;  // type II; type I has no header of its own
  if (payload.size() < size) return {};
  return ip_only(find_ip_behind(is_erspan ? kEtherTypeEthernet : type, payload.subspan(size)));
}

Octets in_vxlan(Octets data) {
  if (data.size() < 8 || (data[0] & 0x08) == 0) return {};
  return ip_only(find_ip_in_ethernet(data.subspan(8)));
}

Octets in_geneve(Octets data) {
  if (data.size() < 8 || data[0] >> 6 != 0) return {};
  const std::size_t size = 8 + std::size_t{4} * (data[0] & 0x3f);
  if (data.size() < size) return {};
  return ip_only(find_ip_behind(load_u16(data, 2), data.subspan(size)));
}

Octets in_udp(Octets payload) {
  if (payload.size() < 8) return {};
  const std::uint16_t port = load_u16(payload, 2);
  if (port == kVxlanPort || port == kVxlanLinuxPort) return in_vxlan(payload.subspan(8));
  return port == kGenevePort ? in_geneve(payload.subspan(8)) : Octets{};
}

}  // namespace

Octets inner_packet(Octets packet, const IpParts& parts) {
  if (parts.transport > packet.size()) return {};
  const Octets payload = packet.subspan(parts.transport);
  switch (parts.protocol) {
    case kIpv4InIp:
      return in_ip(payload, 4);
    case kIpv6InIp:
      return in_ip(payload, 6);
    case kGre:
      return in_gre(payload);
    case kUdp:
      return in_udp(payload);
    default:
      return {};
  }
}

}  // namespace asrp::dump
