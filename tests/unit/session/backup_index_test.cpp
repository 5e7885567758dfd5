// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_index.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "support/holder_twins.hpp"

namespace asrp::test {
namespace {

using session::BackupIndex;
using session::kNoSlot;

constexpr auto kAnySlot = [](std::uint32_t) { return true; };

TEST_CASE("an empty index finds nothing") {
  const BackupIndex index;
  CHECK(index.find(0, kAnySlot) == kNoSlot);
  CHECK(index.find(~std::uint64_t{0}, kAnySlot) == kNoSlot);
  CHECK(index.size() == 0);
}

TEST_CASE("equal hashes: the caller tells the slots apart, erasing takes the one that is named") {
  BackupIndex index;
  for (std::uint32_t slot = 0; slot < 5; ++slot) index.insert(42, slot);
  CHECK(index.find(42, [](std::uint32_t slot) { return slot == 3; }) == 3);
  CHECK(index.erase(42, 3));
  CHECK(!index.erase(42, 3));
  CHECK(index.find(42, [](std::uint32_t slot) { return slot == 3; }) == kNoSlot);
  for (const std::uint32_t slot : {0u, 1u, 2u, 4u}) CHECK(index.find(42, [&](std::uint32_t s) { return s == slot; }) == slot);
  CHECK(index.size() == 4);
}

TEST_CASE("a long life of insertions and deletions in crowded shards, against a model") {
  // Few distinct hashes in few shards: long runs that wrap around the ends of their tables.
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    SeededRandom random(seed);
    BackupIndex index;
    std::multimap<std::uint64_t, std::uint32_t> model;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t hash = (random.below(2) << 54) | random.below(40);
      const auto slot = static_cast<std::uint32_t>(random.below(60));
      const auto range = model.equal_range(hash);
      const auto known = std::find_if(range.first, range.second, [&](const auto& e) { return e.second == slot; });
      if (random.one_in(2) && model.size() < 300) {
        if (known != range.second) continue;
        index.insert(hash, slot);
        model.emplace(hash, slot);
      } else {
        CHECK(index.erase(hash, slot) == (known != range.second));
        if (known != range.second) model.erase(known);
      }
      if (step % 50 != 0) continue;
      CHECK(index.size() == model.size());
      for (const auto& [h, s] : model) {
        const std::uint32_t wanted = s;
        CHECK(index.find(h, [&](std::uint32_t found) { return found == wanted; }) == wanted);
      }
    }
  }
}

TEST_CASE("two entries per backup cost at most 43 octets at any number of backups") {
  SeededRandom random(5);
  BackupIndex index;
  for (std::uint32_t backups = 1; backups <= 300'000; ++backups) {
    index.insert(random.next(), backups);
    index.insert(random.next(), backups);
    if (backups >= 100'000 && backups % 1000 == 0) CHECK(index.octets() / backups <= 43);
  }
}

}  // namespace
}  // namespace asrp::test
