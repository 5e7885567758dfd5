// SPDX-License-Identifier: BSD-3-Clause
#include "decode/link.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace asrp::dump {
namespace {

constexpr std::size_t kMaxSteps = 12;   // tags and encapsulations in a row: 8 VLAN tags and what may be around them
constexpr std::size_t kMaxTags = 8;     // of a VLAN stack
constexpr std::size_t kMaxLabels = 16;  // of an MPLS stack

constexpr LinkResult kCut{LinkStatus::cut, {}};
constexpr LinkResult kUnknown{LinkStatus::unknown, {}};
constexpr LinkResult kNotIp{LinkStatus::not_ip, {}};

LinkResult ip_at(Octets octets) { return octets.empty() ? kCut : LinkResult{LinkStatus::ip, octets}; }

bool is_vlan(std::uint16_t type) { return type == 0x8100 || type == 0x88a8 || type == 0x9100 || type == 0x9200; }

/// EtherTypes that are no IP and hold none: ARP, RARP, loopback test, slow protocols, PPPoE discovery, EAPOL, LLDP, PTP, IPX,
/// AppleTalk, PROFINET, EtherCAT, FCoE, CFM, Wake-on-LAN.
constexpr std::array<std::uint16_t, 19> kOtherTypes{0x0806, 0x0842, 0x8035, 0x809b, 0x80f3, 0x8137, 0x8808,
                                                    0x8809, 0x8863, 0x888e, 0x8892, 0x88a4, 0x88cc, 0x88e1,
                                                    0x88f7, 0x8902, 0x8906, 0x8914, 0x9000};

LinkResult find_ip_in_mpls(Octets octets) {
  for (std::size_t label = 0; label < kMaxLabels; ++label) {
    if (octets.size() < 4) return kCut;
    const bool is_last = (octets[2] & 1) != 0;
    octets = octets.subspan(4);
    if (!is_last) continue;
    if (octets.empty()) return kCut;
    const int version = octets[0] >> 4;
    return version == 4 || version == 6 ? ip_at(octets) : kUnknown;
  }
  return kUnknown;
}

/// `octets` begins with the PPP protocol number, which may be one octet (RFC 1661 6.5).
LinkResult find_ip_in_ppp(Octets octets) {
  if (octets.empty()) return kCut;
  std::uint16_t protocol = octets[0];
  std::size_t size = 1;
  if ((protocol & 1) == 0) {
    if (octets.size() < 2) return kCut;
    protocol = load_u16(octets, 0);
    size = 2;
  }
  octets = octets.subspan(size);
  if (protocol == 0x21 || protocol == 0x57) return ip_at(octets);
  if (protocol == 0x281 || protocol == 0x283) return find_ip_in_mpls(octets);
  return protocol >= 0x8000 ? kNotIp : kUnknown;  // 0x8000 and above are control protocols
}

LinkResult find_ip_in_pppoe(Octets octets) {
  if (octets.size() < 6) return kCut;
  if (octets[0] != 0x11) return kUnknown;
  return octets[1] == 0 ? find_ip_in_ppp(octets.subspan(6)) : kNotIp;
}

/// PPP in HDLC-like framing, with or without address and control octets, or Cisco HDLC.
LinkResult find_ip_in_hdlc(Octets octets) {
  if (octets.size() < 2) return kCut;
  if (octets[0] == 0xff && octets[1] == 0x03) return find_ip_in_ppp(octets.subspan(2));
  if ((octets[0] == 0x0f || octets[0] == 0x8f) && octets[1] == 0) {
    return octets.size() < 4 ? kCut : find_ip_behind(load_u16(octets, 2), octets.subspan(4));
  }
  return find_ip_in_ppp(octets);
}

/// LLC behind an 802.3 length. SNAP with an EtherType sets `type` and gives what is behind it; else the result is final.
struct Llc {
  bool has_type = false;
  std::uint16_t type = 0;
  Octets rest;
  LinkResult result;
};

Llc read_llc(Octets octets) {
  if (octets.size() < 3) return {.rest = {}, .result = kCut};
  if (octets[0] == 0x06 && octets[1] == 0x06 && octets[2] == 0x03) return {.rest = {}, .result = ip_at(octets.subspan(3))};
  if (octets[0] != 0xaa || octets[1] != 0xaa || octets[2] != 0x03) return {.rest = {}, .result = kNotIp};
  if (octets.size() < 8) return {.rest = {}, .result = kCut};
  const bool holds_type = octets[3] == 0 && octets[4] == 0 && (octets[5] == 0 || octets[5] == 0xf8);
  if (!holds_type) return {.rest = {}, .result = kNotIp};
  return {.has_type = true, .type = load_u16(octets, 6), .rest = octets.subspan(8), .result = {}};
}

/// AF_INET and AF_INET6 of the systems that write such captures; their byte order is the writer's.
LinkResult find_ip_in_null(Octets octets) {
  if (octets.size() < 4) return kCut;
  const std::uint32_t big = load_u32(octets, 0);
  const std::uint32_t family = big > 0xffff ? __builtin_bswap32(big) : big;
  const bool is_ip = family == 2 || family == 10 || family == 24 || family == 28 || family == 30;
  return is_ip ? ip_at(octets.subspan(4)) : kUnknown;
}

/// Behind one VLAN tag Linux names in the cooked header not a second one but the protocol behind both, and leaves the rest of
/// the second in front of the IP packet (kernel note 15). One with priority 3 looks like IPv6 and is not told from it.
LinkResult without_rest_of_tag(LinkResult found) {
  if (found.status != LinkStatus::ip) return found;
  const auto version = [&found](std::size_t at) { return found.ip[at] >> 4; };
  if (version(0) == 6 || (version(0) == 4 && (found.ip[0] & 0xf) >= 5)) return found;
  if (found.ip.size() < 5) return kCut;
  const std::uint16_t type = load_u16(found.ip, 2);
  const bool is_behind = (type == 0x0800 && version(4) == 4) || (type == 0x86dd && version(4) == 6);
  if (is_behind) found.ip = found.ip.subspan(4);
  return found;
}

/// `protocol` of a Linux cooked header: an EtherType, or a number of the kernel's own below 0x600.
LinkResult find_ip_in_cooked(std::uint16_t hardware, std::uint16_t protocol, Octets payload) {
  constexpr std::uint16_t kNetlink = 824;
  constexpr std::uint16_t kFrame8023 = 0x0001, kFrame8022 = 0x0004;
  if (hardware == kNetlink) return kNotIp;
  if (protocol == kFrame8022) return find_ip_behind(0, payload);  // LLC
  if (protocol == kFrame8023) return kNotIp;
  return protocol < 0x600 ? kUnknown : without_rest_of_tag(find_ip_behind(protocol, payload));
}

LinkResult find_ip_in_sll(Octets frame) {
  if (frame.size() < 16) return kCut;
  return find_ip_in_cooked(load_u16(frame, 2), load_u16(frame, 14), frame.subspan(16));
}

LinkResult find_ip_in_sll2(Octets frame) {
  if (frame.size() < 20) return kCut;
  return find_ip_in_cooked(load_u16(frame, 8), load_u16(frame, 0), frame.subspan(20));
}

std::uint16_t load_native(Octets octets, std::size_t offset) {
  std::uint16_t value = 0;
  std::memcpy(&value, octets.data() + offset, sizeof value);
  return value;
}

/// A header of 4 octets, then attributes in the byte order of this machine (libpcap swaps those of others).
LinkResult find_ip_in_nflog(Octets octets) {
  constexpr std::uint16_t kPayload = 9;
  if (octets.size() < 4) return kCut;
  octets = octets.subspan(4);
  while (octets.size() >= 4) {
    const std::size_t size = load_native(octets, 0);
    const std::uint16_t type = load_native(octets, 2) & 0x7fff;
    if (size < 4) return kUnknown;
    if (type == kPayload) return ip_at(octets.subspan(4, std::min(size, octets.size()) - 4));
    const std::size_t padded = (size + 3) & ~std::size_t{3};
    if (padded > octets.size()) return kCut;
    octets = octets.subspan(padded);
  }
  return octets.empty() ? kNotIp : kCut;
}

struct LinkType {
  int number;
  LinkResult (*find)(Octets);
};

LinkResult find_ip_in_raw(Octets frame) { return ip_at(frame); }
LinkResult find_ip_in_chdlc(Octets frame) {
  return frame.size() < 4 ? kCut : find_ip_behind(load_u16(frame, 2), frame.subspan(4));
}

constexpr std::array<LinkType, 16> kLinkTypes{{
    {1, find_ip_in_ethernet},  // EN10MB
    {0, find_ip_in_null},      // NULL
    {9, find_ip_in_hdlc},      // PPP
    {12, find_ip_in_raw},      // RAW, as Linux numbers it
    {14, find_ip_in_raw},      // RAW, as OpenBSD does
    {50, find_ip_in_hdlc},     // PPP_SERIAL
    {51, find_ip_in_pppoe},    // PPP_ETHER
    {101, find_ip_in_raw},     // RAW, as files do
    {104, find_ip_in_chdlc},   // C_HDLC
    {108, find_ip_in_null},    // LOOP
    {113, find_ip_in_sll},     // LINUX_SLL
    {228, find_ip_in_raw},     // IPV4
    {229, find_ip_in_raw},     // IPV6
    {239, find_ip_in_nflog},   // NFLOG
    {276, find_ip_in_sll2},    // LINUX_SLL2
    {-1, find_ip_in_raw},      // none: tests that begin at the IP header
}};

const LinkType* link_type_of(int number) {
  const auto* const found =
      std::find_if(kLinkTypes.begin(), kLinkTypes.end(), [&](const LinkType& t) { return t.number == number; });
  return found == kLinkTypes.end() ? nullptr : found;
}

}  // namespace

LinkResult find_ip_behind(std::uint16_t type, Octets payload) {
  std::size_t tags = 0;
  for (std::size_t step = 0; step < kMaxSteps; ++step) {
    if (type == 0x0800 || type == 0x86dd) return ip_at(payload);
    if (is_vlan(type)) {
      if (++tags > kMaxTags) return kUnknown;
      if (payload.size() < 4) return kCut;
      type = load_u16(payload, 2);
      payload = payload.subspan(4);
    } else if (type == kEtherTypeEthernet) {
      if (payload.size() < 14) return kCut;
      type = load_u16(payload, 12);
      payload = payload.subspan(14);
    } else if (type < 0x0600) {
      const Llc llc = read_llc(payload);
      if (!llc.has_type) return llc.result;
      if (llc.type < 0x0600) return kNotIp;
      type = llc.type;
      payload = llc.rest;
    } else if (type == 0x8847 || type == 0x8848) {
      return find_ip_in_mpls(payload);
    } else if (type == 0x8864) {
      return find_ip_in_pppoe(payload);
    } else {
      const bool is_other = std::find(kOtherTypes.begin(), kOtherTypes.end(), type) != kOtherTypes.end();
      return is_other ? kNotIp : kUnknown;
    }
  }
  return kUnknown;
}

LinkResult find_ip_in_ethernet(Octets frame) { return find_ip_behind(kEtherTypeEthernet, frame); }

LinkResult find_ip(Octets frame, int link_type) {
  const LinkType* const known = link_type_of(link_type);
  return known == nullptr ? kUnknown : known->find(frame);
}

bool knows_link_type(int link_type) { return link_type_of(link_type) != nullptr; }

}  // namespace asrp::dump
