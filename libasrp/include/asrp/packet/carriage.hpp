// SPDX-License-Identifier: BSD-3-Clause
// How a message travels (draft 3.4), and how the ASRP option looks on the wire (7.1, 7.2, 7.4).
#pragma once

#include <cstdint>
#include <string_view>

#include "asrp/base/limits.hpp"

namespace asrp::packet {

enum class Carriage : std::uint8_t { inline_tcp, inline_udp, separate_tcp, separate_udp, standalone };
/// "inline-tcp" ... as in asrpdump's `carriage`.
std::string_view to_string(Carriage carriage);

/// The option that marks a message. Experimental kinds carry an ExID (RFC 6994, RFC 9868): TCP `FD 04 xx xx`, UDP
/// `7F len xx xx message`. Assigned kinds carry none: TCP `KK 02`, UDP `KK len message`. spec: 7.4-1
struct Marker {
  std::uint8_t tcp_kind = 253;
  std::uint8_t udp_kind = 127;
  std::uint16_t exid = kDefaultExId;

  [[nodiscard]] bool tcp_has_exid() const { return tcp_kind == 253 || tcp_kind == 254; }
  [[nodiscard]] bool udp_has_exid() const { return udp_kind == 127; }
};

/// Octets by which insert_inline() makes a TCP header longer. The option goes to the front of the option area, padded with NOPs
/// to four octets if the kind is an assigned one: what was there keeps its order and padding, also behind an EOL.
inline constexpr std::size_t kTcpMarkerSize = 4;

}  // namespace asrp::packet
