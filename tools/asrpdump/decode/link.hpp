// SPDX-License-Identifier: BSD-3-Clause
// Finds the IP packet in a frame: link layers, VLAN tags, MPLS, PPPoE, LLC/SNAP.
#pragma once

#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp::dump {

enum class LinkStatus : std::uint8_t {
  ip,       // `ip` begins at an IP header
  not_ip,   // something that is known to hold no IP packet
  unknown,  // a link type or protocol that we can't look into
  cut,      // ends before it is known
};

struct LinkResult {
  LinkStatus status = LinkStatus::unknown;
  Octets ip;
};

/// `link_type` is one of libpcap's DLT_*, as a number: the decoder needs no libpcap.
LinkResult find_ip(Octets frame, int link_type);
/// The same behind an EtherType. Bounded: at most 8 VLAN tags and 16 MPLS labels.
LinkResult find_ip_behind(std::uint16_t ethertype, Octets payload);
LinkResult find_ip_in_ethernet(Octets frame);

bool knows_link_type(int link_type);

inline constexpr std::uint16_t kEtherTypeEthernet = 0x6558;  // a whole Ethernet frame follows (GRE, Geneve)

}  // namespace asrp::dump
