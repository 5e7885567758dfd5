// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/rate_limiter.hpp"

#include <doctest/doctest.h>

using namespace asrp;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a burst of one second's worth, then the rate") {
  policy::RateLimiter limiter(10);
  const TimePoint start = TimePoint{} + seconds(5);
  for (int i = 0; i < 10; ++i) CHECK(limiter.take(start));
  CHECK_FALSE(limiter.take(start));
  CHECK_FALSE(limiter.take(start + milliseconds(50)));
  CHECK(limiter.take(start + milliseconds(101)));
  CHECK_FALSE(limiter.take(start + milliseconds(102)));
  int taken = 0;
  for (int i = 0; i < 20; ++i) taken += limiter.take(start + seconds(60));
  CHECK(taken == 10);
}

TEST_CASE("a rate of zero allows nothing") {
  policy::RateLimiter limiter(0);
  CHECK_FALSE(limiter.take(TimePoint{} + seconds(1)));
  CHECK_FALSE(limiter.take(TimePoint{} + seconds(100)));
}
