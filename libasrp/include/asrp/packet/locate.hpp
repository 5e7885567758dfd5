// SPDX-License-Identifier: BSD-3-Clause
// Finds the place of an ASRP message in a packet of a flow. Knows where a message is, not what it says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/bytes.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::packet {

enum class LocateStatus : std::uint8_t {
  none,  // no ASRP option
  found,
  bad_option,  // the option area is malformed, or our option is there twice: as if it carried none, and counted
  bad_ocs,     // UDP: our option is there but the option checksum does not verify (RFC 9868): ignored, and counted
};

struct Located {
  LocateStatus status = LocateStatus::none;
  /// Octets of the packet where the message must be. TCP: the whole segment payload (the message is its head, its own
  /// Length tells how long it is). UDP: the option's data exactly.
  std::size_t message_offset = 0;
  std::size_t message_room = 0;
  /// The option itself (TCP: in the header; UDP: in the surplus area), kind octet to last octet.
  std::size_t option_offset = 0;
  std::size_t option_size = 0;

  [[nodiscard]] bool found() const { return status == LocateStatus::found; }
  [[nodiscard]] Octets room(const PacketView& view) const { return view.octets().subspan(message_offset, message_room); }
};

/// TCP: walks the options; stops at EOL; length 0 or 1 or beyond the header is `bad_option`. UDP: surplus area of RFC 9868
/// with pad octet, OCS, NOPs (at most 7 in a row), short and extended lengths; trailing octets after EOL must be zero.
/// Never reads outside of the packet, always terminates.
Located locate(const PacketView& view, const Marker& marker);

/// True if a message of `message_size` octets, found in this packet, leaves nothing of the flow behind, so that the packet is a
/// separate one: consumed by the receiving module (4.2.1). TCP: no data left and none of SYN, FIN, RST. UDP: no user data.
/// Senders keep this sound: they never put a message inline into a segment or datagram without data, except with SYN, FIN or
/// RST.
bool is_separate(const PacketView& view, std::size_t message_size);

}  // namespace asrp::packet
