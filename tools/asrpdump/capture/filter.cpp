// SPDX-License-Identifier: BSD-3-Clause
#include "capture/filter.hpp"

namespace asrp::dump {

std::vector<std::string> default_filters(std::uint16_t port, bool tunnels) {
  // TCP with options, UDP with octets behind its length, the port, fragments, extension headers. libpcap looks through no
  // IPv6 extension headers, and tcp[] and udp[] mean IPv4 to it.
  std::string plain =
      "(tcp and tcp[12] & 0xf0 > 0x50)"
      " or (ip6[6] = 6 and ip6[52] & 0xf0 > 0x50)"
      " or (udp and udp[4:2] != ip[2:2] - ((ip[0] & 0xf) << 2))"
      " or (ip6[6] = 17 and ip6[44:2] != ip6[4:2])"
      " or (udp port " +
      std::to_string(port) +
      ")"
      " or (ip[6:2] & 0x3fff != 0)"
      " or ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 44 or ip6[6] = 51 or ip6[6] = 60";
  if (tunnels) {
    plain +=
        " or ip proto 4 or ip proto 41 or ip proto 47 or ip6[6] = 4 or ip6[6] = 41 or ip6[6] = 47"
        " or (udp dst port 4789) or (udp dst port 8472) or (udp dst port 6081)";
  }
  // Encapsulations whose inside libpcap can't be asked about without shifting the rest of the expression: all of them.
  const std::string whole = plain + " or ether proto 0x8847 or ether proto 0x8848 or ether proto 0x8864 or ether proto 0x9200";
  // Each `vlan` shifts the offsets of all that follows it: the nesting is part of the meaning.
  const std::string tagged = whole + " or (vlan and (" + whole + " or (vlan and (" + whole + " or vlan))))";
  // On cooked captures libpcap knows no `vlan`; the kernel has taken one tag away, and of more the next one is the protocol.
  // It may leave the rest of that one in front of the packet (link.cpp): then there is no IP header where one should be.
  const std::string cooked = whole +
                             " or ether proto 0x8100 or ether proto 0x88a8 or ether proto 0x9100"
                             " or (ip and (ip[0] & 0xf0 != 0x40 or ip[0] & 0xf < 5)) or (ip6 and ip6[0] & 0xf0 != 0x60)";
  return {tagged, cooked, plain};
}

}  // namespace asrp::dump
