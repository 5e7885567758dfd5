// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_clock.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using asrp::dump::CaptureClock;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86400 * kSecond;

CaptureClock after(std::initializer_list<std::int64_t> stamps) {
  CaptureClock clock;
  for (const std::int64_t stamp : stamps) clock.see(stamp);
  return clock;
}

}  // namespace

TEST_CASE("time is that of the latest packet, and doesn't go back a little") {
  CHECK(after({5 * kSecond, 9 * kSecond, 8 * kSecond}).now() == 9 * kSecond);
  CHECK(after({5 * kSecond, 9 * kSecond, 8 * kSecond}).passed() == 4 * kSecond);
  CHECK(after({-5 * kSecond, -3 * kSecond}).now() == -3 * kSecond);
  CHECK(after({-5 * kSecond, -3 * kSecond}).passed() == 2 * kSecond);
}

TEST_CASE("a stray stamp, or two, or some that have nothing in common, change nothing") {
  CHECK(after({0, kDay, kSecond}).now() == kSecond);
  CHECK(after({0, kDay, kDay, kSecond, kDay, kDay}).now() == kSecond);
  CHECK(after({0, kDay, 2 * kDay, 3 * kDay, 4 * kDay}).now() == 0);
  CHECK(after({0, -kDay, kSecond}).passed() == kSecond);
}

TEST_CASE("packets that agree are right: a pause of a day, a first packet that was wrong, a capture behind a later one") {
  const CaptureClock pause = after({0, kDay, kDay + kSecond, kDay + 2 * kSecond, kDay + 3 * kSecond});
  CHECK(pause.now() == kDay + 3 * kSecond);
  CHECK(pause.passed() == CaptureClock::kFar + kSecond);
  const CaptureClock back = after({kDay, 0, kSecond, 2 * kSecond, 5 * kSecond});
  CHECK(back.now() == 5 * kSecond);
  CHECK(back.passed() == 3 * kSecond);
}

TEST_CASE("the largest and the smallest stamp there can be") {
  constexpr std::int64_t kMost = INT64_MAX;
  constexpr std::int64_t kLeast = -9'000'000'000 * kSecond / 4;
  CHECK(after({kMost, kLeast, kMost}).now() == kMost);
  CHECK(after({0, kMost, kMost, kMost}).now() == kMost);
}
