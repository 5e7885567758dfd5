// SPDX-License-Identifier: BSD-3-Clause
// Looks for the ASRP option in a TCP header or in a UDP surplus area (RFC 9868) that may be damaged or cut off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/packet/carriage.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::dump {

enum class OptionStatus : std::uint8_t {
  none,       // our option isn't there, as far as can be seen
  found,      // it is, and nothing is wrong with the area
  cut,        // UDP: it is, but the area ends in the capture, so that its checksum can't be verified
  malformed,  // it is, in an area that is malformed or void, or it is there twice
  bad_ocs,    // UDP: it is, and the option checksum is wrong or missing
};

struct OptionSearch {
  OptionStatus status = OptionStatus::none;
  /// Of the packet: where the message must be. UDP only; in TCP it begins with the payload.
  std::size_t message_offset = 0;
  std::size_t message_room = 0;
};

/// `captured`: octets of the packet that are real.
OptionSearch find_tcp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker);
OptionSearch find_udp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker);

}  // namespace asrp::dump
