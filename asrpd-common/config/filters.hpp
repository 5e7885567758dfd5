// SPDX-License-Identifier: GPL-2.0-or-later
// Packet filters that both daemons' rules use.
#pragma once

#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/prefix.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::config {

/// A mark as rules have it: "0x10000000".
std::string bit(std::uint32_t mark);

/// Bytecodes for -m bpf of UDP packets whose IP payload is longer than UDP says, so that options may be there: one for IPv4,
/// two for IPv6 (without, and with one extension header; kernel-notes 13).
Result<std::vector<std::string>, io::IoError> udp_surplus_filters(Family family);
/// The same for datagrams that have no user data besides: separate packets.
Result<std::vector<std::string>, io::IoError> udp_separate_filters(Family family);

/// libpcap filter of ICMP errors about a packet whose source (else destination) was in `network`.
std::string icmp_error_filter(const Prefix& network, bool source);

}  // namespace asrp::config
