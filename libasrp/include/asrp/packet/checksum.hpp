// SPDX-License-Identifier: BSD-3-Clause
// Internet checksums (RFC 1071), transport checksums, and the UDP option checksum (RFC 9868 section 9).
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::packet {

/// One's-complement 16-bit sum, not complemented; an odd last octet counts as the high one of a word.
std::uint16_t ones_sum(Octets octets, std::uint16_t start = 0);
/// Addition with end-around carry.
std::uint16_t ones_add(std::uint16_t a, std::uint16_t b);

/// Checksum of an IPv4 header whose checksum field reads zero or is skipped by the caller. Host order.
std::uint16_t ipv4_header_checksum(Octets header);

/// Checksum of a TCP segment or UDP datagram (`transport` from its header to the end of what it covers), its
/// checksum field taken as zero. UDP: `transport` ends where UDP Length says, never with the surplus area. For UDP a
/// result of 0 is returned as 0xFFFF (RFC 768); for TCP 0 is legal.
std::uint16_t transport_checksum(const IpAddress& src, const IpAddress& dst, Protocol protocol, Octets transport);

/// RFC 1624: the checksum after a 16-bit word changed from `from` to `to`.
std::uint16_t checksum_update(std::uint16_t checksum, std::uint16_t from, std::uint16_t to);

/// OCS over the aligned surplus (from the OCS field to the end, OCS taken as zero), adding the whole surplus length in
/// octets, pad included. A result of 0 is returned as 0xFFFF.
std::uint16_t option_checksum(Octets from_ocs, std::size_t surplus_length);

/// Recomputes in place every length and checksum that depends on the packet's size and content: IPv4 total length and
/// header checksum or IPv6 payload length; TCP checksum. `packet` is the whole packet with right data offset.
/// UDP Length and UDP checksum are not touched: they do not cover the surplus area.
/// Precondition: parses as a packet once lengths are fixed; `transport_offset` is right.
void finish_packet(MutableOctets packet, std::size_t transport_offset, Protocol protocol);

/// Decrements TTL or hop limit and mends the IPv4 header checksum (incremental, RFC 1624). False, and nothing changed, if
/// it would reach 0.
bool decrement_ttl(MutableOctets packet);

}  // namespace asrp::packet
