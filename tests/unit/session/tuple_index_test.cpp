// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/tuple_index.hpp"

#include <doctest/doctest.h>

#include <map>

using asrp::session::kNoSlot;
using asrp::session::TupleIndex;

TEST_CASE("what was put in is found, also where hashes collide") {
  TupleIndex index;
  for (std::uint32_t slot = 0; slot < 100; ++slot) index.insert(7, slot);
  for (std::uint32_t slot = 0; slot < 100; ++slot) {
    CHECK(index.find(7, [&](std::uint32_t s) { return s == slot; }) == slot);
  }
  CHECK(index.find(7, [](std::uint32_t) { return false; }) == kNoSlot);
  CHECK(index.find(8, [](std::uint32_t) { return true; }) == kNoSlot);
  index.erase(7, 50);
  index.erase(7, 50);
  CHECK(index.size() == 99);
  CHECK(index.find(7, [](std::uint32_t s) { return s == 50; }) == kNoSlot);
  CHECK(index.find(7, [](std::uint32_t s) { return s == 99; }) == 99);
  index.clear();
  CHECK(index.find(7, [](std::uint32_t) { return true; }) == kNoSlot);
}

TEST_CASE("ten thousand random insertions and removals agree with a map") {
  TupleIndex index;
  std::map<std::uint32_t, std::uint64_t> reference;  // slot -> hash
  std::uint64_t state = 88172645463325252u;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  std::uint32_t slot = 0;
  for (int step = 0; step < 10000; ++step) {
    if (reference.empty() || next() % 3 != 0) {
      const std::uint64_t hash = next() % 500;  // many collisions, long runs
      index.insert(hash, slot);
      reference[slot++] = hash;
    } else {
      auto it = reference.lower_bound(static_cast<std::uint32_t>(next() % slot));
      if (it == reference.end()) it = reference.begin();
      index.erase(it->second, it->first);
      reference.erase(it);
    }
  }
  REQUIRE(index.size() == reference.size());
  for (const auto& [s, hash] : reference) {
    CHECK(index.find(hash, [&, wanted = s](std::uint32_t found) { return found == wanted; }) == s);
  }
}

TEST_CASE("what one large burst needed is given back: clearing costs what a small burst has, not what the largest one had") {
  TupleIndex index;
  const std::size_t smallest = index.capacity();
  for (std::uint32_t slot = 0; slot < 100000; ++slot) index.insert(slot * 0x9e3779b97f4a7c15u, slot);
  const std::size_t largest = index.capacity();
  index.clear();
  CHECK(index.capacity() == largest);  // another such burst is likely, and costs no growing
  index.insert(7, 1);
  index.clear();
  CHECK(index.capacity() == smallest);
  CHECK(index.size() == 0);
  CHECK(index.find(7, [](std::uint32_t) { return true; }) == kNoSlot);
  index.insert(8, 2);
  CHECK(index.find(8, [](std::uint32_t) { return true; }) == 2);
}
