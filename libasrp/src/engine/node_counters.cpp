// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/node_counters.hpp"

namespace asrp::engine {

CounterInfo info(NodeCounter counter) {
  static constexpr CounterInfo kInfos[] = {
#define ASRP_X(code, name, help) {name, help},
      ASRP_NODE_COUNTERS(ASRP_X)
#undef ASRP_X
  };
  return kInfos[static_cast<std::size_t>(counter)];
}

}  // namespace asrp::engine
