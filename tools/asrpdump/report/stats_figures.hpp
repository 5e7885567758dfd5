// SPDX-License-Identifier: BSD-3-Clause
// Distributions and rates in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace asrp::dump {

/// How often which value came, values exact to 1/16: percentiles err by at most 6 %. The largest is exact.
class Histogram {
 public:
  /// Negative values count as 0.
  void add(std::int64_t value);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t max() const { return max_; }
  /// The smallest value that at least `share` of all don't exceed, rounded up to what is exact; 0 of nothing.
  [[nodiscard]] std::int64_t percentile(double share) const;
  /// How many lie in [from, to): exact where both are powers of two.
  [[nodiscard]] std::uint64_t between(std::int64_t from, std::int64_t to) const;

 private:
  static constexpr unsigned kSteps = 16;  // of each power of two
  static std::size_t place_of(std::uint64_t value);
  static std::uint64_t limit_of(std::size_t place);  // the first value behind it

  std::array<std::uint64_t, 64 * kSteps> counts_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
};

/// How many in which part of the capture. The parts are a second long at first; when there are too many they are joined in
/// twos.
class Rates {
 public:
  static constexpr std::size_t kMost = 60;
  static constexpr std::size_t kKinds = 8;
  using Part = std::array<std::uint64_t, kKinds>;

  /// `time` in nanoseconds since any fixed moment; what is earlier than the first counts as the first.
  void add(std::int64_t time, std::size_t kind);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  /// Seconds that a part lasts.
  [[nodiscard]] std::int64_t seconds() const { return seconds_; }

 private:
  std::vector<Part> parts_;
  std::int64_t begin_ = 0;
  std::int64_t seconds_ = 1;
};

}  // namespace asrp::dump
