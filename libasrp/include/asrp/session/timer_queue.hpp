// SPDX-License-Identifier: BSD-3-Clause
// What is due when. Timers are not cancelled: an entry whose object has moved on is recognised by its owner (slot, generation)
// when it comes up, which is cheaper than finding it; none stays longer than it was set for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "asrp/base/time.hpp"

namespace asrp::session {

struct Timer {
  TimePoint due;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  std::uint8_t kind = 0;
};

class TimerQueue {
 public:
  void add(const Timer& timer);
  /// The earliest timer if it is due at `now`, taken out.
  std::optional<Timer> pop(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next() const;
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

 private:
  std::vector<Timer> heap_;
};

}  // namespace asrp::session
