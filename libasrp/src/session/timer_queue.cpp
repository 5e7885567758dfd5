// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/timer_queue.hpp"

#include <algorithm>

namespace asrp::session {
namespace {

bool later(const Timer& a, const Timer& b) { return a.due > b.due; }

}  // namespace

void TimerQueue::add(const Timer& timer) {
  heap_.push_back(timer);
  std::push_heap(heap_.begin(), heap_.end(), later);
}

std::optional<Timer> TimerQueue::pop(TimePoint now) {
  if (heap_.empty() || heap_.front().due > now) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const Timer timer = heap_.back();
  heap_.pop_back();
  return timer;
}

std::optional<TimePoint> TimerQueue::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().due;
}

}  // namespace asrp::session
