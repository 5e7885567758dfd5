// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/host_address.hpp"

namespace asrp::config {

std::string_view why_no_host(const IpAddress& address) {
  const Octets octets = address.octets();
  if (address.is_unspecified()) return "the unspecified address";
  if (address.is_v4()) {
    if (octets[0] == 127) return "a loopback address";
    if ((octets[0] & 0xf0) == 0xe0) return "a multicast address";
    if (address == IpAddress::v4(0xffffffffu)) return "the broadcast address";
    return "";
  }
  if (octets[0] == 0xff) return "a multicast address";
  if (address == IpAddress::parse("::1")) return "a loopback address";
  return "";
}

}  // namespace asrp::config
