// SPDX-License-Identifier: BSD-3-Clause
// What time it is in a capture, whose packets may have wrong stamps.
#pragma once

#include <cstdint>

namespace asrp::dump {

/// A stamp that is more than an hour away from the time before only counts when the packets behind it confirm it: one damaged
/// packet must not make all sessions old. All in nanoseconds.
class CaptureClock {
 public:
  static constexpr std::int64_t kFar = 3600 * std::int64_t{1'000'000'000};
  static constexpr unsigned kWitnesses = 3;  // in a row, near each other

  void see(std::int64_t stamp);
  /// The latest stamp, stray ones apart. Also before 1970.
  [[nodiscard]] std::int64_t now() const { return now_; }
  /// How much time went by since the first packet. Stands still where the stamps go back; a longer jump counts an hour.
  [[nodiscard]] std::uint64_t passed() const { return passed_; }

 private:
  std::int64_t now_ = 0;
  std::uint64_t passed_ = 0;
  std::int64_t stray_ = 0;
  unsigned witnesses_ = 0;  // of stray_
  bool begun_ = false;
};

}  // namespace asrp::dump
