// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/timer_queue.hpp"

#include <doctest/doctest.h>

using namespace asrp;
using asrp::session::TimerQueue;
using std::chrono::milliseconds;

TEST_CASE("timers come up in the order of their times, not before them") {
  TimerQueue queue;
  const TimePoint zero{};
  for (const int ms : {50, 10, 30, 10, 20, 40}) {
    queue.add({zero + milliseconds(ms), static_cast<std::uint32_t>(ms), 0, 0});
  }
  REQUIRE(queue.next());
  CHECK(*queue.next() == zero + milliseconds(10));
  CHECK_FALSE(queue.pop(zero + milliseconds(9)));
  std::uint32_t before = 0;
  int count = 0;
  while (const auto timer = queue.pop(zero + milliseconds(40))) {
    CHECK(timer->slot >= before);
    before = timer->slot;
    ++count;
  }
  CHECK(count == 5);
  CHECK(queue.size() == 1);
  CHECK(queue.pop(zero + milliseconds(50))->slot == 50);
  CHECK_FALSE(queue.next());
}
