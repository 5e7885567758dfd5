// SPDX-License-Identifier: BSD-3-Clause
// Durations counted in fixed buckets: two additions each, no allocation, and sums over workers are exact.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "asrp/base/time.hpp"

namespace asrp::engine {

/// Upper bounds, rising. A recovery takes one round trip to a server, or some repeats of the query; it ends at 400 ms by
/// default.
inline constexpr std::array<Duration, 12> kRecoveryBounds = {
    std::chrono::microseconds(250), std::chrono::microseconds(500), std::chrono::milliseconds(1),
    std::chrono::milliseconds(2),   std::chrono::milliseconds(5),   std::chrono::milliseconds(10),
    std::chrono::milliseconds(20),  std::chrono::milliseconds(50),  std::chrono::milliseconds(100),
    std::chrono::milliseconds(200), std::chrono::milliseconds(400), std::chrono::seconds(1)};
/// What a daemon needs for one burst of packets.
inline constexpr std::array<Duration, 10> kSlowPathBounds = {std::chrono::microseconds(10),  std::chrono::microseconds(25),
                                                             std::chrono::microseconds(50),  std::chrono::microseconds(100),
                                                             std::chrono::microseconds(250), std::chrono::microseconds(500),
                                                             std::chrono::milliseconds(1),   std::chrono::microseconds(2500),
                                                             std::chrono::milliseconds(5),   std::chrono::milliseconds(10)};

/// `kBounds`: upper bounds of the buckets, each inclusive; what is beyond the last has a bucket of its own.
template <const auto& kBounds>
class Histogram {
 public:
  static constexpr std::size_t kBuckets = kBounds.size() + 1;

  /// `times` things took `duration` each; a negative one counts as none.
  void add(Duration duration, std::uint64_t times = 1) {
    if (duration < Duration::zero()) duration = Duration::zero();
    std::size_t bucket = 0;
    while (bucket < kBounds.size() && duration > kBounds[bucket]) ++bucket;
    counts_[bucket] += times;
    sum_ += duration * static_cast<Duration::rep>(times);
  }
  Histogram& operator+=(const Histogram& other) {
    for (std::size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
    sum_ += other.sum_;
    return *this;
  }

  static std::span<const Duration> bounds() { return kBounds; }
  /// Of each bucket by itself.
  [[nodiscard]] std::span<const std::uint64_t> counts() const { return counts_; }
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  Duration sum_{};
};

using RecoveryHistogram = Histogram<kRecoveryBounds>;
using SlowPathHistogram = Histogram<kSlowPathBounds>;

}  // namespace asrp::engine
