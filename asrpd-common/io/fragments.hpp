// SPDX-License-Identifier: GPL-2.0-or-later
// Cuts a datagram that came reassembled from a queue into fragments again, for a raw socket, which takes none above the MTU.
#pragma once

#include <cstdint>
#include <vector>

#include "asrp/base/bytes.hpp"

namespace asrp::io {

/// The packet in fragments of at most `most` octets each, the first one first. `id` is their identification where the packet
/// has none of its own (IPv6, or 0 in IPv4). Empty if it must not be cut (DF), is a fragment already, or is of a form that is
/// not cut here: IPv4 with options, IPv6 with another next header than UDP. Of IPv4 headers the checksum is left to the raw
/// socket.
std::vector<Buffer> fragments_of(Octets packet, std::size_t most, std::uint32_t id);

}  // namespace asrp::io
