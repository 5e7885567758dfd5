// SPDX-License-Identifier: GPL-2.0-or-later
// On a busy processor a loop that takes packets one by one costs more than the packets: each turn is a change of context and a
// set of system calls. So where the thread has to wait for a processor its turns keep a distance, and packets gather meanwhile,
// as network cards do with their interrupts. Where processors are free nothing waits.
#pragma once

#include <optional>

#include "asrp/base/time.hpp"
#include "io/unique_fd.hpp"

namespace asrp::runtime {

class TurnPace {
 public:
  /// Between the beginnings of two turns on a busy processor.
  static constexpr Duration kDistance = std::chrono::microseconds(750);
  /// How often the kernel's account is read.
  static constexpr Duration kWindow = std::chrono::milliseconds(10);
  /// Busy: the thread waited for a processor for more than this part of the last window.
  static constexpr int kBusyPart = 20;

  /// Follows the calling thread by the kernel's `account` of its waiting. Where there is none no turn ever waits.
  explicit TurnPace(TimePoint now, const char* account = "/proc/thread-self/schedstat");

  /// What to sleep before the turn that would begin `now`; zero: nothing. Call it once for each turn.
  Duration rest(TimePoint now);

 private:
  [[nodiscard]] std::optional<Duration> waited() const;
  void look(TimePoint now);

  io::UniqueFd account_;
  TimePoint window_start_;
  std::optional<Duration> waited_before_;
  bool busy_ = false;
  TimePoint next_turn_{};
};

}  // namespace asrp::runtime
