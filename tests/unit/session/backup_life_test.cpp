// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_life.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "support/holder_twins.hpp"

namespace asrp::test {
namespace {

using session::BackupLife;
using session::Life;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Slots = std::vector<std::uint32_t>;

const TimePoint kStart{std::chrono::hours(5)};

Slots taken(BackupLife& life, TimePoint now, std::size_t max = 1000) {
  Slots out;
  life.take_due(now, max, out);
  return out;
}

Slots first_lingering(BackupLife& life, std::size_t max) {
  Slots out;
  life.first_lingering(max, out);
  return out;
}

TEST_CASE("nothing is due in an empty one, and slots that were never placed are free") {
  BackupLife life;
  life.start(kStart);
  CHECK(!life.next_due());
  CHECK(taken(life, kStart + seconds(1000)).empty());
  CHECK(life.life(123) == Life::free);
  CHECK(!life.is_ambiguous(123));
  life.set_ambiguous(123, true);
  life.remove(123);
  CHECK(!life.is_ambiguous(123));
}

TEST_CASE("a slot is due once, at its time and not before") {
  for (const Life state : {Life::young, Life::unseen, Life::ending, Life::lingering}) {
    BackupLife life;
    life.start(kStart);
    life.place(3, state, kStart + seconds(75));
    CHECK(life.life(3) == state);
    CHECK(life.next_due() == kStart + seconds(75));
    CHECK(taken(life, kStart + seconds(75) - Duration(1)).empty());
    CHECK(taken(life, kStart + seconds(75)) == Slots{3});
    CHECK(life.life(3) == state);
    CHECK(!life.next_due());
    CHECK(taken(life, kStart + seconds(1000)).empty());
  }
}

TEST_CASE("a lingering slot that is due already is found once, however many are asked for") {
  BackupLife life;
  life.start(kStart);
  life.place(3, Life::lingering, kStart);
  CHECK(first_lingering(life, 5) == Slots{3});
  CHECK(first_lingering(life, 5) == Slots{3});
}

TEST_CASE("the lingering slots that are due first are found among others, whatever was placed and removed") {
  BackupLife life;
  life.start(kStart);
  CHECK(first_lingering(life, 5).empty());
  SeededRandom random(1);
  std::map<std::uint32_t, TimePoint> lingering;
  TimePoint now = kStart;
  for (int step = 0; step < 20'000; ++step) {
    const auto slot = static_cast<std::uint32_t>(random.below(500));
    const TimePoint due = now + milliseconds(62) * (1 + random.below(5000));
    const auto what = random.below(8);
    lingering.erase(slot);
    if (what < 3) {
      life.place(slot, Life::lingering, due);
      lingering[slot] = life.due(slot);
    } else if (what < 7) {
      life.place(slot, what < 6 ? Life::ending : Life::settled, due);
    } else {
      life.remove(slot);
    }
    if (random.one_in(50)) {
      now += milliseconds(random.below(20'000));
      for (const std::uint32_t due_now : taken(life, now)) lingering.erase(due_now);
    }
    const std::size_t max = random.below(6);
    const Slots first = first_lingering(life, max);
    REQUIRE(first.size() == std::min<std::size_t>(max, lingering.size()));
    auto others = lingering;
    for (const std::uint32_t slot_found : first) {
      REQUIRE(others.contains(slot_found));
      for (const auto& [other, at] : others) REQUIRE(others[slot_found] <= at);
      others.erase(slot_found);
    }
  }
}

TEST_CASE("times between two ticks are rounded up") {
  BackupLife life;
  life.start(kStart);
  life.place(0, Life::ending, kStart + milliseconds(100));
  CHECK(life.next_due() == kStart + milliseconds(125));
  CHECK(taken(life, kStart + milliseconds(124)).empty());
  CHECK(taken(life, kStart + milliseconds(125)) == Slots{0});
}

TEST_CASE("settled and free slots are never due, and leave the list that they were in") {
  BackupLife life;
  life.start(kStart);
  life.place(0, Life::young, kStart + seconds(1));
  life.place(1, Life::lingering, kStart + seconds(1));
  life.place(2, Life::ending, kStart + seconds(1));
  life.place(0, Life::settled);
  life.remove(1);
  life.remove(2);
  CHECK(!life.next_due());
  CHECK(taken(life, kStart + seconds(10)).empty());
}

TEST_CASE("what lies further ahead than the wheel reaches comes in its time") {
  BackupLife life;
  life.start(kStart);
  life.place(0, Life::lingering, kStart + seconds(5000));
  TimePoint now = kStart;
  while (const auto next = life.next_due()) {
    REQUIRE(*next > now);
    now = *next;
    const Slots slots = taken(life, now);
    if (!slots.empty()) break;
  }
  CHECK(now == kStart + seconds(5000));
}

TEST_CASE("a bounded number is taken, the rest stays due") {
  BackupLife life;
  life.start(kStart);
  for (std::uint32_t slot = 0; slot < 30; ++slot) {
    life.place(slot, slot < 15 ? Life::lingering : Life::young, kStart + seconds(1));
  }
  const TimePoint now = kStart + seconds(2);
  std::set<std::uint32_t> all;
  for (int i = 0; i < 3; ++i) {
    CHECK(*life.next_due() <= now);
    const Slots slots = taken(life, now, 10);
    CHECK(slots.size() == 10);
    all.insert(slots.begin(), slots.end());
  }
  CHECK(all.size() == 30);
  CHECK(!life.next_due());
}

TEST_CASE("the oldest embryonic slots are named, the unseen before the young") {
  BackupLife life;
  life.start(kStart);
  life.place(5, Life::young, kStart + seconds(1));
  life.place(4, Life::unseen, kStart + seconds(70));
  life.place(3, Life::young, kStart + seconds(2));
  life.place(2, Life::settled);
  life.place(1, Life::lingering, kStart);
  CHECK(life.embryonic() == 3);
  Slots oldest;
  life.oldest_embryonic(2, oldest);
  CHECK(oldest == Slots{4, 5});
  life.oldest_embryonic(9, oldest);
  CHECK(oldest == Slots{4, 5, 4, 5, 3});
  life.remove(4);
  life.place(5, Life::settled);
  CHECK(life.embryonic() == 1);
}

TEST_CASE("a slot that becomes free forgets that it was ambiguous") {
  BackupLife life;
  life.start(kStart);
  life.place(0, Life::young, kStart);
  life.set_ambiguous(0, true);
  life.place(0, Life::unseen, kStart);
  CHECK(life.is_ambiguous(0));
  life.remove(0);
  life.place(0, Life::young, kStart);
  CHECK(!life.is_ambiguous(0));
}

TEST_CASE("any order of placing and time, against a model") {
  for (const std::uint64_t seed : {11, 12, 13}) {
    SeededRandom random(seed);
    BackupLife life;
    life.start(kStart);
    std::map<std::uint32_t, TimePoint> due;
    TimePoint now = kStart;
    for (int step = 0; step < 20'000; ++step) {
      const auto slot = static_cast<std::uint32_t>(random.below(200'000));
      const TimePoint at = now + milliseconds(random.below(700'000));
      switch (random.below(4)) {
        case 0:
          life.remove(slot);
          due.erase(slot);
          break;
        default:
          life.place(slot, random.one_in(2) ? Life::ending : Life::lingering, at);
          due[slot] = at;
      }
      if (step % 20 != 0) continue;
      now += milliseconds(random.below(20'000));
      Slots slots;
      do {
        slots.clear();
        life.take_due(now, 64, slots);
        for (const std::uint32_t s : slots) {
          REQUIRE(due.contains(s));
          CHECK(due[s] <= now);
          due.erase(s);
        }
      } while (slots.size() == 64);
      for (const auto& [s, t] : due) REQUIRE(t > now - milliseconds(63));
      if (const auto next = life.next_due()) CHECK(*next > now);
    }
  }
}

TEST_CASE("16 octets per slot") {
  BackupLife life;
  life.start(kStart);
  const std::size_t empty = life.octets();
  life.place(1'000'000, Life::settled);
  CHECK((life.octets() - empty) / 1'000'000 <= 16 + 1);
}

}  // namespace
}  // namespace asrp::test
