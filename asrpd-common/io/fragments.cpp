// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/fragments.hpp"

#include <netinet/in.h>

#include <algorithm>

namespace asrp::io {

namespace {

constexpr std::size_t kIpv4Header = 20;
constexpr std::size_t kIpv6Header = 40;
constexpr std::size_t kFragmentHeader = 8;
constexpr std::uint8_t kFragmentNext = 44;

void put16(Buffer& out, std::size_t at, std::size_t value) {
  out[at] = static_cast<std::uint8_t>(value >> 8);
  out[at + 1] = static_cast<std::uint8_t>(value);
}

bool can_be_cut(Octets packet) {
  if (packet.empty()) return false;
  if (packet[0] == 0x45)  // no options; of flags and offset nothing may be set
    return packet.size() > kIpv4Header && (packet[6] & 0x7f) == 0 && packet[7] == 0;
  return packet[0] >> 4 == 6 && packet.size() > kIpv6Header && packet[6] == IPPROTO_UDP;
}

}  // namespace

std::vector<Buffer> fragments_of(Octets packet, std::size_t most, std::uint32_t id) {
  std::vector<Buffer> fragments;
  if (!can_be_cut(packet)) return fragments;
  const bool is_v4 = packet[0] == 0x45;
  const std::size_t header = is_v4 ? kIpv4Header : kIpv6Header;
  const std::size_t before = is_v4 ? header : header + kFragmentHeader;
  if (most < before + 8) return fragments;
  const std::size_t step = (most - before) / 8 * 8;  // offsets count in 8 octets
  const Octets body = packet.subspan(header);
  for (std::size_t offset = 0; offset < body.size(); offset += step) {
    const Octets part = body.subspan(offset, std::min(step, body.size() - offset));
    const bool more = part.size() < body.size() - offset;
    Buffer out(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(header));
    if (is_v4) {
      put16(out, 2, header + part.size());
      if (out[4] == 0 && out[5] == 0) put16(out, 4, id & 0xffff);
      put16(out, 6, offset / 8 | (more ? 0x2000u : 0u));
    } else {
      put16(out, 4, kFragmentHeader + part.size());
      out[6] = kFragmentNext;
      out.insert(out.end(), kFragmentHeader, 0);
      out[header] = IPPROTO_UDP;
      put16(out, header + 2, offset | (more ? 1u : 0u));
      put16(out, header + 4, id >> 16);
      put16(out, header + 6, id & 0xffff);
    }
    out.insert(out.end(), part.begin(), part.end());
    fragments.push_back(std::move(out));
  }
  return fragments;
}

}  // namespace asrp::io
