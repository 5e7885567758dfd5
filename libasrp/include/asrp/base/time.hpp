// SPDX-License-Identifier: BSD-3-Clause
// Time is an argument. Nothing in libasrp reads a clock; the type has no now().
#pragma once

#include <chrono>

namespace asrp {

using Duration = std::chrono::nanoseconds;

/// Tag of the monotonic clock that the caller supplies.
struct EngineClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<EngineClock, Duration>;
  static constexpr bool is_steady = true;
};

using TimePoint = EngineClock::time_point;

}  // namespace asrp
