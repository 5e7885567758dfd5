// SPDX-License-Identifier: BSD-3-Clause
// The holder's counters. The list is complete: what is not counted here does not happen silently.
#pragma once

#include <cstdint>

#include "asrp/engine/counters.hpp"

// name in code, name for people, help
#define ASRP_HOLDER_COUNTERS(X)                                                      \
  X(packets_inbound, "packets.inbound", "packets with an ASRP option that came in")  \
  X(packets_outbound, "packets.outbound", "packets that went out through the queue") \
  X(messages_standalone, "messages.standalone", "datagrams to ASRP-PORT")

namespace asrp::engine {

enum class HolderCounter : std::uint16_t {
#define ASRP_X(code, name, help) code,
  ASRP_HOLDER_COUNTERS(ASRP_X)
#undef ASRP_X
      count_
};

CounterInfo info(HolderCounter counter);

}  // namespace asrp::engine
