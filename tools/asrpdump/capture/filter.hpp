// SPDX-License-Identifier: BSD-3-Clause
// The pcap filter that a live capture has when none is given: what can hold ASRP, so that the rest isn't copied.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asrp/packet/carriage.hpp"

namespace asrp::dump {

/// Filter expressions, the most exact first. Which of them libpcap can compile depends on the link type: VLAN tags, MPLS and
/// PPPoE are known to it only on some. `tunnels`: also what may be a tunnel.
std::vector<std::string> default_filters(std::uint16_t port, bool tunnels);

}  // namespace asrp::dump
