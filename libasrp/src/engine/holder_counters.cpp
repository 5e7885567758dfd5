// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/holder_counters.hpp"

#include <array>

#include "asrp/base/assert.hpp"

namespace asrp::engine {
namespace {

constexpr std::array<CounterInfo, Counters<HolderCounter>::kSize> kInfos{{
#define ASRP_X(code, name, help) {name, help},
    ASRP_HOLDER_COUNTERS(ASRP_X)
#undef ASRP_X
}};

}  // namespace

CounterInfo info(HolderCounter counter) {
  ASRP_ASSERT(counter < HolderCounter::count_);
  return kInfos[static_cast<std::size_t>(counter)];
}

}  // namespace asrp::engine
