// SPDX-License-Identifier: BSD-3-Clause
// Packets within packets: IP in IP, GRE (NVGRE, ERSPAN II), VXLAN, Geneve.
#pragma once

#include "asrp/base/bytes.hpp"
#include "decode/ip.hpp"

namespace asrp::dump {

/// The inner packet, from its IP header on, as far as it was captured. Empty if `packet` is no tunnel packet that is known.
/// `packet` ends where its IP header or the capture says. Precondition: no fragment.
Octets inner_packet(Octets packet, const IpParts& parts);

}  // namespace asrp::dump
