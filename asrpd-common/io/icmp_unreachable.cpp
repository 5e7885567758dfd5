// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/icmp_unreachable.hpp"

#include <algorithm>

namespace asrp::io {

namespace {

constexpr std::size_t kIcmpHeader = 8;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kUdpHeader = 8;
constexpr std::uint8_t kUdp = 17;

// Octets after `count`, empty if there are fewer.
Octets after(Octets octets, std::size_t count) { return octets.size() < count ? Octets{} : octets.subspan(count); }

std::size_t ipv4_header(Octets packet) {
  if (packet.size() < 20 || packet[0] >> 4 != 4) return 0;
  const std::size_t length = std::size_t{packet[0] & 0x0fu} * 4;
  return length >= 20 && length <= packet.size() ? length : 0;
}

// `udp`: from the UDP header on, as far as it is quoted; what follows the datagram is none of it.
std::optional<engine::Unreachable> about(const IpAddress& peer, Octets udp, std::uint16_t port) {
  if (udp.size() < 4 || load_u16(udp, 2) != port) return {};
  engine::Unreachable error{peer, load_u16(udp, 0), {}};
  if (udp.size() > kUdpHeader) {
    const Octets quoted = udp.subspan(kUdpHeader);
    const std::size_t length = load_u16(udp, 4);
    error.message = quoted.first(std::min(quoted.size(), length - std::min(length, kUdpHeader)));
  }
  return error;
}

std::optional<engine::Unreachable> from_v4(Octets packet, std::uint16_t port) {
  const std::size_t outer = ipv4_header(packet);
  const Octets icmp = outer == 0 ? Octets{} : packet.subspan(outer);
  if (icmp.size() < kIcmpHeader || icmp[0] != 3 || icmp[1] != 3) return {};
  const Octets quoted = icmp.subspan(kIcmpHeader);
  const std::size_t inner = ipv4_header(quoted);
  if (inner == 0 || quoted[9] != kUdp) return {};
  return about(IpAddress::v4(quoted.subspan(16, 4)), after(quoted, inner), port);
}

// Our messages have no extension headers, so none is looked through.
std::optional<engine::Unreachable> from_v6(Octets icmp, std::uint16_t port) {
  if (icmp.size() < kIcmpHeader || icmp[0] != 1 || icmp[1] != 4) return {};
  const Octets quoted = icmp.subspan(kIcmpHeader);
  if (quoted.size() < kIpv6Header || quoted[0] >> 4 != 6 || quoted[6] != kUdp) return {};
  return about(IpAddress::v6(quoted.subspan(24, 16)), after(quoted, kIpv6Header), port);
}

}  // namespace

std::optional<engine::Unreachable> unreachable_peer(Octets packet, const IpAddress& sender, std::uint16_t port) {
  const auto error = sender.is_v4() ? from_v4(packet, port) : from_v6(packet, port);
  return error && error->peer == sender ? error : std::nullopt;
}

}  // namespace asrp::io
