// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/icmp_unreachable.hpp"

namespace asrp::io {

namespace {

constexpr std::size_t kIcmpHeader = 8;
constexpr std::size_t kIpv6Header = 40;
constexpr std::uint8_t kUdp = 17;

// Octets after `count`, empty if there are fewer.
Octets after(Octets octets, std::size_t count) { return octets.size() < count ? Octets{} : octets.subspan(count); }

std::size_t ipv4_header(Octets packet) {
  if (packet.size() < 20 || packet[0] >> 4 != 4) return 0;
  const std::size_t length = std::size_t{packet[0] & 0x0fu} * 4;
  return length >= 20 && length <= packet.size() ? length : 0;
}

bool to_port(Octets udp, std::uint16_t port) { return udp.size() >= 4 && load_u16(udp, 2) == port; }

std::optional<IpAddress> from_v4(Octets packet, std::uint16_t port) {
  const std::size_t outer = ipv4_header(packet);
  const Octets icmp = outer == 0 ? Octets{} : packet.subspan(outer);
  if (icmp.size() < kIcmpHeader || icmp[0] != 3 || icmp[1] != 3) return {};
  const Octets quoted = icmp.subspan(kIcmpHeader);
  const std::size_t inner = ipv4_header(quoted);
  if (inner == 0 || quoted[9] != kUdp || !to_port(after(quoted, inner), port)) return {};
  return IpAddress::v4(quoted.subspan(16, 4));
}

// Our messages have no extension headers, so none is looked through.
std::optional<IpAddress> from_v6(Octets icmp, std::uint16_t port) {
  if (icmp.size() < kIcmpHeader || icmp[0] != 1 || icmp[1] != 4) return {};
  const Octets quoted = icmp.subspan(kIcmpHeader);
  if (quoted.size() < kIpv6Header || quoted[0] >> 4 != 6 || quoted[6] != kUdp || !to_port(after(quoted, kIpv6Header), port))
    return {};
  return IpAddress::v6(quoted.subspan(24, 16));
}

}  // namespace

std::optional<IpAddress> unreachable_peer(Octets packet, const IpAddress& sender, std::uint16_t port) {
  const auto peer = sender.is_v4() ? from_v4(packet, port) : from_v6(packet, port);
  return peer == sender ? peer : std::nullopt;
}

}  // namespace asrp::io
