// SPDX-License-Identifier: BSD-3-Clause
// What in a packet claims to be an ASRP message, and whether it is one (draft 3.4, 4.2, 4.3.1). Unlike packet::locate(), which
// serves those who act on messages, it also tells what is wrong, and copes with packets that the capture cuts off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "asrp/packet/carriage.hpp"
#include "asrp/packet/packet_view.hpp"
#include "packet.hpp"

namespace asrp::dump {

/// `captured`: octets of `view` that are real; the rest is zeros. An option in the headers or in the surplus area goes before
/// the port.
Sighting find_sighting(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker, std::uint16_t port);
/// The same of the user data alone of a UDP datagram to or from ASRP-PORT.
Sighting find_standalone(const packet::PacketView& view, std::size_t captured, std::uint16_t port);

}  // namespace asrp::dump
