// SPDX-License-Identifier: BSD-3-Clause
// ICMP echo, the only kind of ICMP that has sessions (RFC 5508). In a Tuple its identifier is the port of the one who asks, and
// 0 that of the one who answers.
#pragma once

#include <optional>

#include "asrp/base/tuple.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::packet {

constexpr bool is_icmp(Protocol protocol) { return protocol == Protocol::icmp || protocol == Protocol::icmpv6; }

/// The tuple of an echo request. Nothing if the packet is none.
std::optional<Tuple> echo_request_tuple(const PacketView& packet);

}  // namespace asrp::packet
