// SPDX-License-Identifier: GPL-2.0-or-later
// Who answered "port unreachable" to a datagram, and what of it the error quotes.
#pragma once

#include <cstdint>
#include <optional>

#include "asrp/engine/unreachable.hpp"

namespace asrp::io {

/// `packet`: as a raw socket delivers it, IPv4 with the IP header, IPv6 from the ICMPv6 header on. The quoted
/// datagram, if the error is "port unreachable" about UDP to `port` and comes from the address that it went to, since only the
/// host itself knows; else nothing. Whether we sent such a datagram is the engine's to judge. The result views `packet`.
std::optional<engine::Unreachable> unreachable_peer(Octets packet, const IpAddress& sender, std::uint16_t port);

}  // namespace asrp::io
