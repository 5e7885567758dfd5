// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/slot_pool.hpp"

#include <doctest/doctest.h>

#include <set>

using asrp::session::kNoSlot;
using asrp::session::SlotPool;

TEST_CASE("slots are bounded, reused fresh, and told apart by their generation") {
  SlotPool<int> pool(2);
  const auto a = pool.take();
  const auto b = pool.take();
  CHECK(a != b);
  CHECK(pool.take() == kNoSlot);
  pool[a] = 5;
  const auto generation = pool.generation(a);
  CHECK(pool.alive(a, generation));
  pool.give_back(a);
  CHECK_FALSE(pool.alive(a, generation));
  const auto c = pool.take();
  CHECK(c == a);
  CHECK(pool[c] == 0);
  CHECK_FALSE(pool.alive(c, generation));
  CHECK(pool.alive(c, pool.generation(c)));
  CHECK_FALSE(pool.alive(77, 0));
  CHECK(pool.size() == 2);
}

TEST_CASE("a visit may give back what it visits") {
  SlotPool<int> pool(10);
  for (int i = 0; i < 10; ++i) pool[pool.take()] = i;
  std::set<int> seen;
  pool.for_each_slot([&](std::uint32_t slot) {
    seen.insert(pool[slot]);
    if (pool[slot] % 2 == 0) pool.give_back(slot);
  });
  CHECK(seen.size() == 10);
  CHECK(pool.size() == 5);
}
