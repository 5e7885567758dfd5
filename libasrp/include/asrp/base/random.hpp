// SPDX-License-Identifier: BSD-3-Clause
// Randomness is injected, so that a seed replays a run.
#pragma once

#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp {

class RandomSource {
 public:
  virtual ~RandomSource() = default;
  /// Fills with unpredictable octets.
  virtual void fill(MutableOctets out) = 0;

  std::uint32_t u32() {
    std::uint8_t o[4];
    fill(o);
    return load_u32(o, 0);
  }
  std::uint64_t u64() { return (std::uint64_t{u32()} << 32) | u32(); }
};

}  // namespace asrp
