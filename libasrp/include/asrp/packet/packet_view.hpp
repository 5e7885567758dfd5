// SPDX-License-Identifier: BSD-3-Clause
// A checked window over one IP packet: IPv4 with options or IPv6 with extension headers, then TCP, UDP or ICMP.
// Checked once, in parse(); afterwards no accessor can fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::packet {

/// Why a packet is not one that we look into. Such a packet is passed on or dropped unchanged, and counted.
enum class PacketError : std::uint8_t {
  truncated,   // shorter than a header, or than its own total length
  ip_version,  // neither 4 nor 6
  ip_header,   // IHL < 5 or beyond the packet; IPv6 payload length 0 (jumbogram)
  extension,   // IPv6 chain too long, malformed, ESP, or No Next Header
  fragment,    // a fragment (offset or more-fragments set; atomic IPv6 fragments are not)
  protocol,    // no TCP, UDP, ICMP or ICMPv6
  tcp_header,  // data offset < 5 or beyond the segment
  udp_length,  // UDP Length < 8 or beyond the IP payload (RFC 9868 section 5)
};
std::string_view to_string(PacketError error);

inline constexpr std::uint8_t kTcpFin = 0x01;
inline constexpr std::uint8_t kTcpSyn = 0x02;
inline constexpr std::uint8_t kTcpRst = 0x04;
inline constexpr std::uint8_t kTcpPsh = 0x08;
inline constexpr std::uint8_t kTcpAck = 0x10;

class PacketView {
 public:
  /// `packet` starts at the IP header; octets beyond the IP total length (padding) are cut off.
  static Result<PacketView, PacketError> parse(Octets packet);

  /// The packet, exactly as long as its IP header says.
  [[nodiscard]] Octets octets() const { return packet_; }
  [[nodiscard]] Family family() const { return family_; }
  [[nodiscard]] bool is_v4() const { return family_ == Family::v4; }
  [[nodiscard]] Protocol protocol() const { return protocol_; }
  [[nodiscard]] bool is_tcp() const { return protocol_ == Protocol::tcp; }
  [[nodiscard]] bool is_udp() const { return protocol_ == Protocol::udp; }
  [[nodiscard]] bool is_icmp() const { return protocol_ == Protocol::icmp || protocol_ == Protocol::icmpv6; }
  /// The 5-tuple; ports are 0 for ICMP.
  [[nodiscard]] const Tuple& tuple() const { return tuple_; }

  [[nodiscard]] std::uint8_t ttl() const { return packet_[is_v4() ? 8 : 7]; }
  [[nodiscard]] bool dont_fragment() const { return !is_v4() || (packet_[6] & 0x40) != 0; }

  /// IPv6: an Authentication Header covers the packet, so that nobody may edit it.
  [[nodiscard]] bool is_authenticated() const { return authenticated_; }

  /// Offset of the transport header; everything from there to the end is the IP payload.
  [[nodiscard]] std::size_t transport_offset() const { return transport_; }
  /// Offset of the number of the transport protocol (IPv4 Protocol, or the last Next Header).
  [[nodiscard]] std::size_t protocol_offset() const { return protocol_offset_; }
  /// Offset and size of the user data: TCP segment payload; UDP data as long as UDP Length says.
  [[nodiscard]] std::size_t payload_offset() const { return payload_; }
  [[nodiscard]] std::size_t payload_size() const { return payload_end_ - payload_; }
  [[nodiscard]] Octets payload() const { return packet_.subspan(payload_, payload_size()); }
  /// UDP: what lies beyond UDP Length inside the IP payload (RFC 9868 surplus area). Empty for TCP.
  [[nodiscard]] Octets surplus() const { return packet_.subspan(payload_end_); }

  // TCP only.
  [[nodiscard]] std::uint8_t tcp_flags() const { return packet_[transport_ + 13]; }
  /// SYN without ACK, FIN, RST: begins a connection.
  [[nodiscard]] bool is_tcp_syn() const {
    return is_tcp() && (tcp_flags() & (kTcpSyn | kTcpAck | kTcpFin | kTcpRst)) == kTcpSyn;
  }
  [[nodiscard]] std::uint32_t tcp_sequence() const { return load_u32(packet_, transport_ + 4); }
  [[nodiscard]] std::uint32_t tcp_acknowledgment() const { return load_u32(packet_, transport_ + 8); }
  [[nodiscard]] Octets tcp_options() const { return packet_.subspan(transport_ + 20, payload_ - transport_ - 20); }

 private:
  PacketView() = default;

  Octets packet_;
  Tuple tuple_;
  std::size_t transport_ = 0;
  std::size_t protocol_offset_ = 0;
  std::size_t payload_ = 0;
  std::size_t payload_end_ = 0;
  Family family_ = Family::v4;
  Protocol protocol_ = Protocol::tcp;
  bool authenticated_ = false;
};

/// The tuple of the packet that an ICMP error quotes, as that packet was sent. Nothing if `icmp` is no error message
/// (IPv4 types 3, 4, 5, 11, 12; ICMPv6 1 to 4), quotes no TCP or UDP, or fewer than 8 octets of its transport header.
std::optional<Tuple> quoted_tuple(const PacketView& icmp);

}  // namespace asrp::packet
