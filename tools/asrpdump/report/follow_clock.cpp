// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_clock.hpp"

#include <algorithm>

namespace asrp::dump {
namespace {

bool are_near(std::int64_t one, std::int64_t other) {
  const std::uint64_t apart =
      static_cast<std::uint64_t>(std::max(one, other)) - static_cast<std::uint64_t>(std::min(one, other));
  return apart <= static_cast<std::uint64_t>(CaptureClock::kFar);
}

}  // namespace

void CaptureClock::see(std::int64_t stamp) {
  if (!begun_) {
    begun_ = true;
    now_ = stamp;
  } else if (are_near(now_, stamp)) {
    witnesses_ = 0;
    if (stamp <= now_) return;
    passed_ += static_cast<std::uint64_t>(stamp - now_);
    now_ = stamp;
  } else {
    witnesses_ = witnesses_ != 0 && are_near(stray_, stamp) ? witnesses_ + 1 : 1;
    stray_ = stamp;
    if (witnesses_ < kWitnesses) return;
    if (stamp > now_) passed_ += static_cast<std::uint64_t>(kFar);
    now_ = stamp;
  }
}

}  // namespace asrp::dump
