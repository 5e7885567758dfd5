// SPDX-License-Identifier: GPL-2.0-or-later
// The only callers of the clocks and of libsodium's random numbers. Everything else takes time and randomness as arguments.
#pragma once

#include "asrp/base/random.hpp"
#include "asrp/base/time.hpp"

namespace asrp::runtime {

/// CLOCK_MONOTONIC as the engines' time.
TimePoint monotonic_now();

/// Seconds since 1970, for log lines and events.
double wall_clock_seconds();

/// The kernel's random numbers through libsodium, drawn in blocks: one system call serves many cookies.
class SystemRandom final : public RandomSource {
 public:
  /// Throws std::runtime_error if the system has no random source.
  SystemRandom();
  void fill(MutableOctets out) override;

 private:
  std::uint8_t pool_[512];
  std::size_t used_ = sizeof pool_;
};

}  // namespace asrp::runtime
