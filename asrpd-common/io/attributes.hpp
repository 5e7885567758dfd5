// SPDX-License-Identifier: GPL-2.0-or-later
// Walks netlink messages and attributes with bounds checked; values are read without an assumption about alignment.
#pragma once

#include <linux/netlink.h>

#include <algorithm>
#include <cstring>

#include "asrp/base/bytes.hpp"

namespace asrp::io {

/// Numbers in the machine's order, as netlink headers have them.
template <typename T>
T load_native(Octets octets, std::size_t offset = 0) {
  T value{};
  if (offset + sizeof value <= octets.size()) std::memcpy(&value, octets.data() + offset, sizeof value);
  return value;  // zero if it is not there
}

/// Numbers in network order, zero if they are not there (attributes of netfilter).
inline std::uint64_t get_u64(Octets value) {
  return value.size() >= 8 ? std::uint64_t{load_u32(value, 0)} << 32 | load_u32(value, 4) : 0;
}
inline std::uint32_t get_u32(Octets value) { return value.size() >= 4 ? load_u32(value, 0) : 0; }
inline std::uint16_t get_u16(Octets value) { return value.size() >= 2 ? load_u16(value, 0) : std::uint16_t{0}; }
inline std::uint8_t get_u8(Octets value) { return value.empty() ? std::uint8_t{0} : value[0]; }

/// Calls `visit(type, value)` for each attribute; flag bits of the type are removed. Stops at the first malformed one.
template <typename Visit>
void for_each_attribute(Octets attributes, Visit visit) {
  while (attributes.size() >= sizeof(nlattr)) {
    const auto header = load_native<nlattr>(attributes);
    if (header.nla_len < sizeof(nlattr) || header.nla_len > attributes.size()) return;
    visit(header.nla_type & NLA_TYPE_MASK, attributes.subspan(sizeof(nlattr), header.nla_len - sizeof(nlattr)));
    attributes = attributes.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nla_len), attributes.size()));
  }
}

/// Calls `visit(header, payload)` for each netlink message of a datagram.
template <typename Visit>
void for_each_message(Octets datagram, Visit visit) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto header = load_native<nlmsghdr>(datagram);
    if (header.nlmsg_len < sizeof(nlmsghdr) || header.nlmsg_len > datagram.size()) return;
    visit(header, datagram.subspan(sizeof(nlmsghdr), header.nlmsg_len - sizeof(nlmsghdr)));
    datagram = datagram.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  }
}

}  // namespace asrp::io
