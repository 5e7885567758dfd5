// SPDX-License-Identifier: BSD-3-Clause
// A token bucket; time is passed in.
#pragma once

#include <algorithm>
#include <cstdint>

#include "asrp/base/time.hpp"

namespace asrp::policy {

class RateLimiter {
 public:
  /// At most `per_second`, and as many at once.
  explicit RateLimiter(std::uint32_t per_second) : per_second_(per_second), tokens_(per_second) {}

  /// True if one more is within the rate, and then it is counted.
  bool take(TimePoint now) {
    tokens_ = tokens_at(now);
    started_ = true;
    last_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }
  /// Whether take() would be true now.
  [[nodiscard]] bool would_take(TimePoint now) const { return tokens_at(now) >= 1; }

 private:
  [[nodiscard]] double tokens_at(TimePoint now) const {
    const double earned = std::chrono::duration<double>(now - last_).count() * per_second_;
    return started_ ? std::min<double>(per_second_, tokens_ + earned) : per_second_;
  }

  double per_second_;
  double tokens_;
  TimePoint last_{};
  bool started_ = false;
};

}  // namespace asrp::policy
