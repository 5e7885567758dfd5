// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/filters.hpp"

#include <algorithm>
#include <cstdio>

#include "io/rule_set.hpp"

namespace asrp::config {
namespace {

// Payload of IP against the length of UDP. IPv6 counts neither its own header nor, here, the one extension header.
constexpr const char* kSurplusV4 = "ip and udp and ip[2:2] - ((ip[0]&0xf)<<2) > udp[4:2]";
constexpr const char* kSurplusV6 = "ip6 and ip6[6]==17 and ip6[4:2] > ip6[44:2]";
constexpr const char* kSurplusV6Extension =
    "ip6 and (ip6[6]==0 or ip6[6]==43 or ip6[6]==60) and ip6[40]==17 and "
    "(ip6[4:2] - ((ip6[41]+1)<<3)) > ip6[44+((ip6[41]+1)<<3):2]";
constexpr const char* kEmptyV4 = " and udp[4:2] == 8";
constexpr const char* kEmptyV6 = " and ip6[44:2] == 8";

Result<std::vector<std::string>, io::IoError> compile(const std::vector<std::string>& filters) {
  std::vector<std::string> bytecodes;
  for (const std::string& filter : filters) {
    auto bytecode = io::compile_bytecode(filter);
    if (!bytecode) return Failure{bytecode.error()};
    bytecodes.push_back(std::move(*bytecode));
  }
  return bytecodes;
}

}  // namespace

std::string bit(std::uint32_t mark) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%x", mark);
  return text;
}

Result<std::vector<std::string>, io::IoError> udp_surplus_filters(Family family) {
  if (family == Family::v4) return compile({kSurplusV4});
  return compile({kSurplusV6, kSurplusV6Extension});
}

Result<std::vector<std::string>, io::IoError> udp_separate_filters(Family family) {
  if (family == Family::v4) return compile({std::string(kSurplusV4) + kEmptyV4});
  return compile({std::string(kSurplusV6) + kEmptyV6});
}

std::string icmp_error_filter(const Prefix& network, bool source) {
  const IpAddress& address = network.address;
  const Octets octets = address.octets();
  std::string filter;
  std::size_t at = 0;
  if (address.is_v4()) {
    // Unreachable, time exceeded, parameter problem; the embedded IP header starts at octet 8.
    filter = "icmp and (icmp[0]==3 or icmp[0]==11 or icmp[0]==12)";
    at = 8 + (source ? 12u : 16u);
  } else {
    // Errors have a type below 128; the embedded header starts 8 octets behind the IPv6 header.
    filter = "ip6 and ip6[6]==58 and ip6[40]<128";
    at = 48 + (source ? 8u : 24u);
  }
  const char* const place = address.is_v4() ? "icmp" : "ip6";
  for (std::size_t i = 0; i < octets.size() && i * 8 < network.length; i += 4) {
    const std::size_t bits = std::min<std::size_t>(32, network.length - i * 8);  // of this word
    char part[64];
    if (bits == 32) {
      std::snprintf(part, sizeof part, " and %s[%zu:4]==0x%08x", place, at + i, load_u32(octets, i));
    } else {
      const std::uint32_t mask = ~std::uint32_t{0} << (32 - bits);
      std::snprintf(part, sizeof part, " and %s[%zu:4]&0x%08x==0x%08x", place, at + i, mask, load_u32(octets, i));
    }
    filter += part;
  }
  return filter;
}

}  // namespace asrp::config
