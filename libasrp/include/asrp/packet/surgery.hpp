// SPDX-License-Identifier: BSD-3-Clause
// Puts messages into packets of a flow and takes them out again (draft 3.4.1, 4.2.1). Sequence and acknowledgment numbers
// are never touched. Lengths and checksums of the results are right if those of the packet were: transport checksums are
// mended by what changed (RFC 1624), so that a packet damaged on its way never gets a right one here. Results are appended
// to a buffer that the caller reuses, and that must not hold the packet itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::packet {

/// Why a message can't travel in this packet. The caller takes the next form: inline, separate, standalone, none.
enum class SurgeryError : std::uint8_t {
  exceeds_mtu,
  no_option_room,     // TCP: fewer than 4 of the 40 octets left
  protected_segment,  // TCP MD5 (19) or TCP-AO (29); UDP AUTH (9), UENC (193), FRAG (3), unsafe ones; IPv6 AH: never edited
  malformed_options,  // an option area that does not parse, or a UDP one that holds no option, is left alone
  has_message,        // the packet carries an ASRP option already
  no_data,            // inline into a segment or datagram without data would look like a separate packet
  not_a_flow,         // neither TCP nor UDP
};
std::string_view to_string(SurgeryError error);

/// Appends the packet with `message` inline. TCP: option to the front of the options, message to the head of the payload. UDP:
/// EXP option in the surplus area (after must-support options and before EOL if an area with a right OCS is there already),
/// OCS. `mtu`: octets that the result may have at the most. `out` is unchanged on error.
Result<Done, SurgeryError> insert_inline(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                         Buffer& out);

/// Appends a separate packet: the copied header with the option and the message, no data of the flow. TCP: FIN and PSH are
/// cleared in the copy, since the data that they belong to is not in it. UDP: UDP Length 8.
Result<Done, SurgeryError> make_separate(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                         Buffer& out);

/// Appends the packet without the option and without the first `message_size` octets of `located`'s room: what the sender's
/// stack made, octet for octet (except for the IPv4 identification, which nobody changed). UDP: an area that holds nothing else
/// (NOPs, EOL and fill apart) vanishes; other options stay, and the OCS is recomputed. A foreign TCP option whose removal would
/// break the alignment is overwritten with NOPs. Precondition: `located.found()`, `message_size <= located.message_room`.
void strip(const PacketView& view, const Located& located, std::size_t message_size, Buffer& out);

}  // namespace asrp::packet
