// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/first_packet.hpp"

namespace asrp::policy {

bool is_dns_query(Octets payload) {
  constexpr std::size_t kHeader = 12;
  if (payload.size() < kHeader) return false;
  constexpr std::uint8_t kQrAndOpcode = 0xf8;
  if ((payload[2] & kQrAndOpcode) != 0) return false;
  if (load_u16(payload, 4) != 1 || load_u16(payload, 6) != 0) return false;
  std::size_t at = kHeader;
  while (at < payload.size() && payload[at] != 0) {
    if (payload[at] > 63) return false;  // a question has nothing to point back to
    at += 1u + payload[at];
  }
  return at < payload.size() && payload.size() - at >= 1 + 4;  // root label, type, class
}

bool is_quic_initial(Octets payload) {
  constexpr std::size_t kLeast = 1200;
  if (payload.size() < kLeast) return false;
  constexpr std::uint8_t kLongHeaderAndFixed = 0xc0;
  if ((payload[0] & kLongHeaderAndFixed) != kLongHeaderAndFixed) return false;
  const unsigned type = (payload[0] >> 4) & 3u;
  const std::uint32_t version = load_u32(payload, 1);
  const bool initial = (version == 0x00000001 && type == 0) || (version == 0x6b3343cf && type == 1);
  return initial && payload[5] >= 8 && payload[5] <= 20;
}

}  // namespace asrp::policy
