// SPDX-License-Identifier: BSD-3-Clause
// The node's counters. The list is complete: what is not counted here does not happen silently.
#pragma once

#include <cstdint>

#include "asrp/engine/counters.hpp"

// name in code, name for people, help
#define ASRP_NODE_COUNTERS(X)                                       \
  X(packets_first, "packets.first", "packets taken at the raw tap") \
  X(packets_stray, "packets.stray", "packets without a session")    \
  X(packets_known, "packets.known", "packets of known sessions on the slow path")

namespace asrp::engine {

enum class NodeCounter : std::uint16_t {
#define ASRP_X(code, name, help) code,
  ASRP_NODE_COUNTERS(ASRP_X)
#undef ASRP_X
      count_
};

CounterInfo info(NodeCounter counter);

}  // namespace asrp::engine
