// SPDX-License-Identifier: BSD-3-Clause
// Randomness for tests: the same numbers for the same seed, on every machine.
#pragma once

#include <cstdint>

#include "asrp/base/random.hpp"

namespace asrp::test {

/// Deterministic randomness (SplitMix64).
class SeededRandom final : public RandomSource {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  void fill(MutableOctets out) override {
    for (std::uint8_t& o : out) o = static_cast<std::uint8_t>(next());
  }
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace asrp::test
