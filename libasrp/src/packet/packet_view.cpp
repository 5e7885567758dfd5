// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/packet_view.hpp"

#include <algorithm>
#include <array>

#include "asrp/base/limits.hpp"

namespace asrp::packet {
namespace {

constexpr std::size_t kIpv4HeaderSize = 20;
constexpr std::size_t kIpv6HeaderSize = 40;
constexpr std::size_t kIcmpHeaderSize = 8;

constexpr std::uint8_t kHopByHop = 0;
constexpr std::uint8_t kRouting = 43;
constexpr std::uint8_t kFragment = 44;
constexpr std::uint8_t kEsp = 50;
constexpr std::uint8_t kAuthentication = 51;
constexpr std::uint8_t kNoNextHeader = 59;
constexpr std::uint8_t kDestination = 60;

/// What lies in front of the transport header.
struct IpHeaders {
  Family family = Family::v4;
  std::uint8_t protocol = 0;
  std::size_t protocol_offset = 0;
  std::size_t transport = 0;
  bool is_fragment = false;        // offset or more-fragments
  bool is_later_fragment = false;  // offset: begins in the middle of the transport payload
  bool is_authenticated = false;
  IpAddress src;
  IpAddress dst;
};

/// Total length as the first header says. Checks what can be checked without the rest.
Result<std::size_t, PacketError> total_length(Octets packet) {
  if (packet.empty()) return Failure{PacketError::truncated};
  switch (packet[0] >> 4) {
    case 4: {
      if (packet.size() < kIpv4HeaderSize) return Failure{PacketError::truncated};
      const std::size_t header = std::size_t{4} * (packet[0] & 0xf);
      const std::size_t total = load_u16(packet, 2);
      if (header < kIpv4HeaderSize || header > total) return Failure{PacketError::ip_header};
      return total;
    }
    case 6: {
      if (packet.size() < kIpv6HeaderSize) return Failure{PacketError::truncated};
      const std::size_t payload = load_u16(packet, 4);
      if (payload == 0) return Failure{PacketError::ip_header};
      return kIpv6HeaderSize + payload;
    }
    default:
      return Failure{PacketError::ip_version};
  }
}

Result<IpHeaders, PacketError> walk_v4(Octets packet) {
  IpHeaders ip;
  ip.transport = std::size_t{4} * (packet[0] & 0xf);
  if (ip.transport > packet.size()) return Failure{PacketError::truncated};
  ip.protocol_offset = 9;
  ip.protocol = packet[9];
  const std::uint16_t fragment = load_u16(packet, 6);
  ip.is_fragment = (fragment & 0x3fff) != 0;
  ip.is_later_fragment = (fragment & 0x1fff) != 0;
  ip.src = IpAddress::v4(packet.subspan(12, 4));
  ip.dst = IpAddress::v4(packet.subspan(16, 4));
  return ip;
}

bool is_extension(std::uint8_t next) {
  return next == kHopByHop || next == kRouting || next == kFragment || next == kAuthentication || next == kDestination;
}

/// Size of the extension header of kind `next` at the begin of `header` (8 octets at least), each kind in its own unit.
std::size_t extension_size(std::uint8_t next, Octets header) {
  if (next == kFragment) return 8;
  if (next == kAuthentication) return std::size_t{4} * (header[1] + std::size_t{2});
  return std::size_t{8} * (header[1] + std::size_t{1});
}

Result<IpHeaders, PacketError> walk_v6(Octets packet) {
  IpHeaders ip;
  ip.family = Family::v6;
  ip.protocol_offset = 6;
  ip.transport = kIpv6HeaderSize;
  ip.src = IpAddress::v6(packet.subspan(8, 16));
  ip.dst = IpAddress::v6(packet.subspan(24, 16));
  const auto failure = [&ip] { return Failure{ip.is_fragment ? PacketError::fragment : PacketError::extension}; };
  for (std::size_t headers = 0;; ++headers) {
    const std::uint8_t next = packet[ip.protocol_offset];
    ip.protocol = next;
    if (ip.is_later_fragment) return ip;  // what `next` names is in another packet
    if (next == kEsp || next == kNoNextHeader) return failure();
    if (!is_extension(next)) return ip;
    if (headers == kMaxExtensionHeaders || (next == kHopByHop && headers != 0)) return failure();
    const Octets header = packet.subspan(ip.transport);
    if (header.size() < 8) return failure();
    const std::size_t size = extension_size(next, header);
    if (size > header.size() || size % 8 != 0) return failure();
    if (next == kFragment) {
      const std::uint16_t fragment = load_u16(header, 2);
      ip.is_fragment = ip.is_fragment || (fragment & 0xfff9) != 0;
      ip.is_later_fragment = (fragment & 0xfff8) != 0;
    }
    ip.is_authenticated = ip.is_authenticated || next == kAuthentication;
    ip.protocol_offset = ip.transport;
    ip.transport += size;
  }
}

/// Precondition: total_length() found nothing wrong.
Result<IpHeaders, PacketError> walk(Octets packet) { return packet[0] >> 4 == 4 ? walk_v4(packet) : walk_v6(packet); }

bool is_known(Family family, Protocol protocol) {
  if (protocol == Protocol::tcp || protocol == Protocol::udp) return true;
  return protocol == (family == Family::v4 ? Protocol::icmp : Protocol::icmpv6);
}

/// User data within the IP payload.
struct UserData {
  std::size_t begin;
  std::size_t end;
};

Result<UserData, PacketError> find_user_data(Octets payload, Protocol protocol) {
  if (protocol == Protocol::tcp) {
    if (payload.size() < 20) return Failure{PacketError::truncated};
    const std::size_t header = std::size_t{4} * (payload[12] >> 4);
    if (header < 20 || header > payload.size()) return Failure{PacketError::tcp_header};
    return UserData{header, payload.size()};
  }
  if (payload.size() < kIcmpHeaderSize) return Failure{PacketError::truncated};  // UDP's is as long
  if (protocol != Protocol::udp) return UserData{kIcmpHeaderSize, payload.size()};
  const std::size_t length = load_u16(payload, 4);
  if (length < 8 || length > payload.size()) return Failure{PacketError::udp_length};
  return UserData{8, length};
}

bool is_icmp_error(Family family, std::uint8_t type) {
  if (family == Family::v6) return type >= 1 && type <= 4;
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

constexpr std::array<std::string_view, 8> kPacketErrorNames{"truncated", "ip_version", "ip_header",  "extension",
                                                            "fragment",  "protocol",   "tcp_header", "udp_length"};

}  // namespace

std::string_view to_string(PacketError error) {
  const auto number = static_cast<std::uint8_t>(error);
  return number < kPacketErrorNames.size() ? kPacketErrorNames[number] : "?";
}

Result<PacketView, PacketError> PacketView::parse(Octets packet) {
  const auto total = total_length(packet);
  if (!total) return Failure{total.error()};
  if (*total > packet.size()) return Failure{PacketError::truncated};
  packet = packet.first(*total);
  const auto ip = walk(packet);
  if (!ip) return Failure{ip.error()};
  if (ip->is_fragment) return Failure{PacketError::fragment};
  const auto protocol = static_cast<Protocol>(ip->protocol);
  if (!is_known(ip->family, protocol)) return Failure{PacketError::protocol};
  const Octets payload = packet.subspan(ip->transport);
  const auto data = find_user_data(payload, protocol);
  if (!data) return Failure{data.error()};

  PacketView view;
  view.packet_ = packet;
  view.family_ = ip->family;
  view.protocol_ = protocol;
  view.transport_ = ip->transport;
  view.protocol_offset_ = ip->protocol_offset;
  view.payload_ = ip->transport + data->begin;
  view.payload_end_ = ip->transport + data->end;
  view.authenticated_ = ip->is_authenticated;
  view.tuple_ = Tuple{{ip->src, 0}, {ip->dst, 0}, protocol};
  if (!view.is_icmp()) {
    view.tuple_.src.port = load_u16(payload, 0);
    view.tuple_.dst.port = load_u16(payload, 2);
  }
  return view;
}

std::optional<Tuple> quoted_tuple(const PacketView& icmp) {
  if (!icmp.is_icmp() || !is_icmp_error(icmp.family(), icmp.octets()[icmp.transport_offset()])) return std::nullopt;
  Octets quoted = icmp.payload();
  const auto total = total_length(quoted);
  if (!total) return std::nullopt;
  quoted = quoted.first(std::min(quoted.size(), *total));
  const auto ip = walk(quoted);
  if (!ip || ip->family != icmp.family() || ip->is_later_fragment) return std::nullopt;
  const auto protocol = static_cast<Protocol>(ip->protocol);
  if (protocol != Protocol::tcp && protocol != Protocol::udp) return std::nullopt;
  const Octets transport = quoted.subspan(ip->transport);
  if (transport.size() < 8) return std::nullopt;
  return Tuple{{ip->src, load_u16(transport, 0)}, {ip->dst, load_u16(transport, 2)}, protocol};
}

}  // namespace asrp::packet
