// SPDX-License-Identifier: BSD-3-Clause
// Whom a frame came from and goes to on its link, as far as its link layer tells.
#pragma once

#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp::dump {

/// LINKTYPE_LINUX_SLL2: the link type that tells the interface.
inline constexpr int kCooked2Link = 276;

/// Equal numbers mean the same neighbour: its hardware address, or the interface behind which it is. 0: not known.
struct Places {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

/// Ethernet: both hardware addresses. Linux cooked captures: the interface (version 2) or the sender's address (version 1), by
/// the direction that the packet had. Others tell nothing.
Places places_of(Octets frame, int link_type);

}  // namespace asrp::dump
