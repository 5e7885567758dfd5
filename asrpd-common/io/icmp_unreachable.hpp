// SPDX-License-Identifier: GPL-2.0-or-later
// Who answered "port unreachable" to a datagram of ours.
#pragma once

#include <cstdint>
#include <optional>

#include "asrp/base/address.hpp"

namespace asrp::io {

/// `packet`: as a raw socket delivers it, IPv4 with the IP header, IPv6 from the ICMPv6 header on. The address that the quoted
/// datagram went to, if it is "port unreachable" about UDP to `port` and comes from that very address, since only the host
/// itself knows; else nothing. Whoever can't send with a server's address can't make its holder look gone.
std::optional<IpAddress> unreachable_peer(Octets packet, const IpAddress& sender, std::uint16_t port);

}  // namespace asrp::io
