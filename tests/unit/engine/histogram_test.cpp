// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/histogram.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace asrp;
using namespace asrp::engine;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

template <typename H>
std::vector<std::uint64_t> counts(const H& histogram) {
  return {histogram.counts().begin(), histogram.counts().end()};
}

}  // namespace

TEST_CASE("the bounds rise") {
  CHECK(std::is_sorted(kRecoveryBounds.begin(), kRecoveryBounds.end()));
  CHECK(std::is_sorted(kSlowPathBounds.begin(), kSlowPathBounds.end()));
  CHECK(std::adjacent_find(kRecoveryBounds.begin(), kRecoveryBounds.end()) == kRecoveryBounds.end());
  CHECK(std::adjacent_find(kSlowPathBounds.begin(), kSlowPathBounds.end()) == kSlowPathBounds.end());
}

TEST_CASE("a bound belongs to its bucket, what is beyond the last has its own") {
  for (std::size_t i = 0; i < kRecoveryBounds.size(); ++i) {
    RecoveryHistogram h;
    h.add(kRecoveryBounds[i]);
    CHECK(h.counts()[i] == 1);
    h.add(kRecoveryBounds[i] + std::chrono::nanoseconds(1));
    CHECK(h.counts()[i + 1] == 1);
    CHECK(h.sum() == 2 * kRecoveryBounds[i] + std::chrono::nanoseconds(1));
  }
  RecoveryHistogram h;
  h.add(seconds(100));
  CHECK(h.counts().back() == 1);
}

TEST_CASE("several things of one burst count each, with the time of each") {
  SlowPathHistogram h;
  h.add(microseconds(30), 5);
  CHECK(counts(h)[2] == 5);
  CHECK(h.sum() == microseconds(150));
  h.add(microseconds(30), 0);
  CHECK(counts(h)[2] == 5);
}

TEST_CASE("a clock that went back counts as no time") {
  SlowPathHistogram h;
  h.add(milliseconds(-5));
  CHECK(h.counts()[0] == 1);
  CHECK(h.sum() == Duration::zero());
}

TEST_CASE("sums over workers are those of one that had everything") {
  RecoveryHistogram one, other, all;
  for (int i = 0; i < 1000; ++i) {
    const Duration taken = microseconds(7 * i * i);
    (i % 3 == 0 ? one : other).add(taken);
    all.add(taken);
  }
  one += other;
  CHECK(counts(one) == counts(all));
  CHECK(one.sum() == all.sum());
  const auto total = counts(all);
  CHECK(std::accumulate(total.begin(), total.end(), std::uint64_t{0}) == 1000);
}
