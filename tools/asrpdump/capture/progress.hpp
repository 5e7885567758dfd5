// SPDX-License-Identifier: BSD-3-Clause
// How far the reading of a large file is, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>

namespace asrp::dump {

class Progress {
 public:
  /// `size`: of the file, 0 if unknown. Shows nothing for small files, or if `wanted` is false.
  Progress(std::uint64_t size, bool wanted);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// Takes the line away again.
  ~Progress();

  /// After each frame; looks at the clock only now and then.
  void tick(std::uint64_t frames, std::uint64_t position) {
    if (is_wanted_ && frames % kFramesPerLook == 0) show(frames, position);
  }
  void clear();

 private:
  static constexpr std::uint64_t kFramesPerLook = 8192;

  void show(std::uint64_t frames, std::uint64_t position);

  std::uint64_t size_;
  bool is_wanted_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace asrp::dump
