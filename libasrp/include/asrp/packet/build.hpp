// SPDX-License-Identifier: BSD-3-Clause
// Whole packets of our own: standalone messages and TCP resets.
#pragma once

#include <cstdint>
#include <optional>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::packet {

/// Appends an IP/UDP packet (IPv4: DF clear, id 0; TTL 64; checksum always present). Precondition: both of one family, payload
/// below 65 000 octets.
void build_datagram(const Endpoint& from, const Endpoint& to, Octets payload, Buffer& out);

/// Appends the RST that RFC 9293 3.10.7.1 gives as the answer to a segment of a connection that does not exist; source and
/// destination swapped. False, and nothing appended, for a segment that carries RST itself.
bool build_reset(const PacketView& segment, Buffer& out);

}  // namespace asrp::packet
