// SPDX-License-Identifier: BSD-3-Clause
// Whole packets of our own: standalone messages, TCP resets and ICMP errors.
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

/// Appends the ICMP error "administratively prohibited" (RFC 1812 5.2.7.1: type 3, code 13; RFC 4443: type 1, code 1) to the
/// source of `packet`. It quotes as much of the packet as 576 or 1280 octets have room for. Precondition: `from` is of the
/// packet's family.
void build_prohibited(const PacketView& packet, const IpAddress& from, Buffer& out);

}  // namespace asrp::packet
