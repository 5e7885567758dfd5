// SPDX-License-Identifier: BSD-3-Clause
#include "decode/places.hpp"

namespace asrp::dump {
namespace {

constexpr int kEthernet = 1;
constexpr int kCooked = 113;
constexpr std::uint8_t kOutgoing = 4;  // packet type of cooked captures
constexpr std::uint64_t kInterface = std::uint64_t{1} << 62;
constexpr std::uint64_t kHardware = std::uint64_t{1} << 61;

std::uint64_t hardware(Octets frame, std::size_t offset) {
  return kHardware | (std::uint64_t{load_u16(frame, offset)} << 32) | load_u32(frame, offset + 2);
}

}  // namespace

Places places_of(Octets frame, int link_type) {
  if (link_type == kEthernet && frame.size() >= 14) return {hardware(frame, 6), hardware(frame, 0)};
  if (link_type == kCooked2Link && frame.size() >= 20) {
    const std::uint64_t interface = kInterface | load_u32(frame, 4);
    return frame[10] == kOutgoing ? Places{0, interface} : Places{interface, 0};
  }
  if (link_type == kCooked && frame.size() >= 16 && load_u16(frame, 0) != kOutgoing && load_u16(frame, 4) == 6) {
    return {hardware(frame, 6), 0};
  }
  return {};
}

}  // namespace asrp::dump
