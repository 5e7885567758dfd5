// SPDX-License-Identifier: BSD-3-Clause
// Virtual time: what is to happen when. Equal times keep the order in which they were entered, so that a seed replays a run.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "asrp/base/time.hpp"

namespace asrp::sim {

class Agenda {
 public:
  using Action = std::function<void()>;

  [[nodiscard]] TimePoint now() const { return now_; }
  void at(TimePoint when, Action action) { entries_.push({std::max(when, now_), next_++, std::move(action)}); }
  void in(Duration delay, Action action) { at(now_ + delay, std::move(action)); }

  /// Runs everything up to `end`, and time is `end` then.
  void run_until(TimePoint end) {
    while (!entries_.empty() && entries_.top().when <= end) {
      now_ = entries_.top().when;
      const Action action = std::move(entries_.top().action);
      entries_.pop();
      action();
      ++done_;
    }
    now_ = std::max(now_, end);
  }
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  struct Entry {
    TimePoint when;
    std::uint64_t number;
    mutable Action action;  // moved out just before pop()
    bool operator<(const Entry& other) const { return when != other.when ? when > other.when : number > other.number; }
  };

  TimePoint now_{std::chrono::hours(1)};
  std::uint64_t next_ = 0;
  std::size_t done_ = 0;
  std::priority_queue<Entry> entries_;
};

}  // namespace asrp::sim
