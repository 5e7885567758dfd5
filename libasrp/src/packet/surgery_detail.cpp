// SPDX-License-Identifier: BSD-3-Clause
#include "packet/surgery_detail.hpp"

namespace asrp::packet {

std::size_t append(std::initializer_list<Octets> parts, Buffer& out) {
  const std::size_t start = out.size();
  for (const Octets part : parts) out.insert(out.end(), part.begin(), part.end());
  return start;
}

// spec: 4.2.1-2
void set_ip_length(const PacketView& view, MutableOctets packet) {
  if (view.is_v4()) {
    const auto total = static_cast<std::uint16_t>(packet.size());
    store_u16(packet, 10, checksum_update(load_u16(packet, 10), load_u16(packet, 2), total));
    store_u16(packet, 2, total);
  } else {
    store_u16(packet, 4, static_cast<std::uint16_t>(packet.size() - 40));
  }
}

}  // namespace asrp::packet
