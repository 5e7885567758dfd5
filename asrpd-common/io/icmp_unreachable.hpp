// SPDX-License-Identifier: GPL-2.0-or-later
// Who answered "port unreachable" to a datagram of ours.
#pragma once

#include <cstdint>
#include <optional>

#include "asrp/base/address.hpp"

namespace asrp::io {

/// `packet`: as a raw socket delivers it, IPv4 with the IP header, IPv6 from the ICMPv6 header on. The address that the quoted
/// datagram went to, if it is "port unreachable" about UDP to `port`; else nothing.
std::optional<IpAddress> unreachable_peer(Octets packet, Family family, std::uint16_t port);

}  // namespace asrp::io
