// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/echo.hpp"

namespace asrp::packet {

std::optional<Tuple> echo_request_tuple(const PacketView& packet) {
  constexpr std::uint8_t kRequestV4 = 8;
  constexpr std::uint8_t kRequestV6 = 128;
  if (!packet.is_icmp()) return std::nullopt;
  const Octets header = packet.octets().subspan(packet.transport_offset());
  if (header[0] != (packet.is_v4() ? kRequestV4 : kRequestV6) || header[1] != 0) return std::nullopt;
  Tuple tuple = packet.tuple();
  tuple.src.port = load_u16(header, 4);
  return tuple;
}

}  // namespace asrp::packet
