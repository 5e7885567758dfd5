// SPDX-License-Identifier: BSD-3-Clause
// Golden vectors of placement version 1, from an independent implementation. They must never change: nodes of two releases
// run side by side in one cluster.
#include "asrp/policy/placement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "support/builders.hpp"
#include "support/policy_builders.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;
using namespace asrp::test;

namespace {

Epoch pool() { return {{{"alpha", 1}, {"beta", 1}, {"gamma", 2}, {"delta", 5}, {"idle", 0}}, counting_key()}; }

std::string order(const Ranking& ranking, std::uint16_t row, std::size_t count = 8) {
  std::vector<std::uint16_t> ranks(count);
  ranks.resize(ranking.top(row, ranks));
  std::string text;
  for (const std::uint16_t r : ranks) text += (text.empty() ? "" : " ") + ranking.id(r);
  return text;
}

}  // namespace

TEST_CASE("golden: rows [spec 3.5.3-1]") {
  CHECK(kPlacementVersion == 1);
  CHECK(placement_row(counting_key(), tcp_tuple("203.0.113.7:50000", "198.51.100.1:80")) == 44456);
  CHECK(placement_row(counting_key(), udp_tuple("203.0.113.7:50000", "198.51.100.1:80")) == 64147);
  CHECK(placement_row(counting_key(), tcp_tuple("[2001:db8::7]:50000", "[2001:db8:1::1]:443")) == 7277);
  CHECK(placement_row(counting_key(), udp_tuple("192.0.2.1:1", "192.0.2.2:53")) == 24864);
}

TEST_CASE("golden: logarithms") {
  static constexpr struct {
    std::uint64_t h;
    std::uint32_t log;
  } kRows[] = {{0, 1073741824},
               {1, 1073741824},
               {2, 1056964608},
               {3, 1047150566},
               {1u << 31, 553648128},
               {std::uint64_t{1} << 32, 536870912},
               {std::uint64_t{1} << 63, 16777216},
               {~std::uint64_t{0}, 1},
               {0x123456789abcdef0, 63984631}};
  for (const auto& row : kRows) {
    CAPTURE(row.h);
    CHECK(negative_log2(row.h) == row.log);
  }
}

TEST_CASE("golden: the order of servers in a row, for any order of configuration [spec 3.5.3-1]") {
  Epoch epoch = pool();
  std::sort(epoch.members.begin(), epoch.members.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  do {
    const Ranking ranking(epoch);
    CHECK(order(ranking, 44456) == "delta gamma alpha beta");
    CHECK(order(ranking, 24864) == "delta beta gamma alpha");
    CHECK(order(ranking, 0) == "delta beta gamma alpha");
    CHECK(order(ranking, 1) == "gamma delta alpha beta");
    CHECK(order(ranking, 2) == "delta beta alpha gamma");
    CHECK(order(ranking, 1000) == "delta alpha gamma beta");
    CHECK(order(ranking, 65535) == "alpha beta gamma delta");
  } while (std::next_permutation(epoch.members.begin(), epoch.members.end(),
                                 [](const auto& a, const auto& b) { return a.id < b.id; }));
}

TEST_CASE("equal scores are ordered by id: many servers, in two orders of configuration [spec 3.5.3-1]") {
  Epoch epoch;
  epoch.key = counting_key();
  for (int i = 0; i < 1000; ++i) epoch.members.push_back({"server" + std::to_string(i), 1});
  const Ranking one(epoch);
  std::reverse(epoch.members.begin(), epoch.members.end());
  const Ranking two(epoch);
  for (std::uint16_t row = 0; row < 400; ++row) CHECK(order(one, row, 1000) == order(two, row, 1000));
}

TEST_CASE("golden: all rows at once [spec 3.5.3-1]") {
  const Ranking ranking(pool());
  Buffer letters;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::uint16_t ranks[2];
    REQUIRE(ranking.top(static_cast<std::uint16_t>(row), ranks) == 2);
    for (const std::uint16_t r : ranks) letters.push_back(static_cast<std::uint8_t>(ranking.id(r)[0]));
  }
  CHECK(siphash(HashKey{}, letters) == 0x49f447dfc6dbe256);
}

TEST_CASE("load follows the weights") {
  const Ranking ranking(pool());
  std::map<std::string, int> count;
  for (std::size_t row = 0; row < kRows; ++row) ++count[order(ranking, static_cast<std::uint16_t>(row), 1)];
  CHECK(count["delta"] == 36680);
  CHECK(count["gamma"] == 14470);
  CHECK(count["alpha"] == 7192);
  CHECK(count["beta"] == 7194);
  CHECK(count.count("idle") == 0);
}

TEST_CASE("the first ranks do not depend on how many are asked for, or on what was asked before") {
  Epoch epoch = pool();
  for (int i = 0; i < 20; ++i) epoch.members.push_back({"server" + std::to_string(i), 3});
  const Ranking warm(epoch);
  for (const std::uint16_t row : std::initializer_list<std::uint16_t>{3, 77, 4000}) {
    const std::string all = order(warm, row, 64);
    for (std::size_t count = 0; count <= 24; ++count) {
      const Ranking cold(epoch);
      const std::string some = order(cold, row, count);
      CHECK(all.substr(0, some.size()) == some);
      CHECK(order(warm, row, count) == some);
    }
  }
}

TEST_CASE("few ranks are those of the whole order, for pools, weights and priorities of all kinds") {
  SeededRandom random(1);
  for (int pool_number = 0; pool_number < 60; ++pool_number) {
    Epoch epoch{{}, counting_key()};
    const std::size_t size = 1 + random.below(pool_number % 20 == 0 ? 3000 : 40);
    const std::uint64_t heaviest = std::uint64_t{1} << random.below(33);
    for (std::size_t i = 0; i < size; ++i) {
      epoch.members.push_back({"m" + std::to_string(i), static_cast<std::uint32_t>(random.below(heaviest))});
      if (pool_number % 3 == 1) epoch.members.back().priority = static_cast<std::uint32_t>(random.below(4));
    }
    const Ranking ranking(epoch, 1 + random.below(16));
    for (int row = 0; row < 20; ++row) {
      const auto number = static_cast<std::uint16_t>(random.next());
      std::vector<std::uint16_t> whole(size);  // more than is put in order one by one
      whole.resize(ranking.top(number, whole));
      for (const std::size_t few : {1u, 3u, 4u, 16u}) {
        std::uint16_t ranks[16];
        const std::size_t count = ranking.top(number, std::span(ranks).first(few));
        REQUIRE(count == std::min(few, whole.size()));
        CHECK(std::equal(ranks, ranks + count, whole.begin()));
      }
    }
  }
}

TEST_CASE("the highest priority is ranked first, and within one the order is as it would be without") {
  SeededRandom random(2);
  for (int pool_number = 0; pool_number < 40; ++pool_number) {
    Epoch epoch{{}, counting_key()};
    std::map<std::string, std::uint32_t> priorities;
    const std::size_t size = 1 + random.below(30);
    for (std::size_t i = 0; i < size; ++i) {
      epoch.members.push_back({"m" + std::to_string(i), static_cast<std::uint32_t>(1 + random.below(5))});
      const std::uint64_t kind = random.below(4);
      priorities[epoch.members.back().id] = kind == 3 ? 0xffffffff : static_cast<std::uint32_t>(kind);
    }
    Epoch with = epoch;
    for (EpochMember& member : with.members) member.priority = priorities[member.id];
    const Ranking plain(epoch);
    const Ranking ranked(with);
    for (int n = 0; n < 20; ++n) {
      const auto row = static_cast<std::uint16_t>(random.next());
      std::vector<std::uint16_t> expected(size);
      REQUIRE(plain.top(row, expected) == size);
      std::stable_sort(expected.begin(), expected.end(),
                       [&](std::uint16_t a, std::uint16_t b) { return priorities[plain.id(a)] > priorities[plain.id(b)]; });
      for (const std::size_t few : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{16}, size}) {
        std::vector<std::uint16_t> ranks(std::min(few, size));
        REQUIRE(ranked.top(row, ranks) == ranks.size());
        CHECK(std::equal(ranks.begin(), ranks.end(), expected.begin()));
      }
    }
  }
}

TEST_CASE("a priority that all have alike changes nothing") {
  Epoch epoch = pool();
  const Ranking without(epoch);
  for (EpochMember& member : epoch.members) member.priority = 7;
  const Ranking with(epoch);
  for (std::uint16_t row = 0; row < 2000; ++row) CHECK(order(with, row) == order(without, row));
}

TEST_CASE("the first of some members is the first of them in the whole order") {
  SeededRandom random(3);
  for (int pool_number = 0; pool_number < 40; ++pool_number) {
    Epoch epoch{{}, counting_key()};
    const std::size_t size = 1 + random.below(60);
    for (std::size_t i = 0; i < size; ++i) {
      epoch.members.push_back({"m" + std::to_string(i), static_cast<std::uint32_t>(1 + random.below(5))});
      if (pool_number % 2 == 0) epoch.members.back().priority = static_cast<std::uint32_t>(random.below(3));
    }
    const Ranking ranking(epoch);
    for (int n = 0; n < 20; ++n) {
      const auto row = static_cast<std::uint16_t>(random.next());
      std::vector<std::uint8_t> flags(size);
      for (auto& flag : flags) flag = random.below(static_cast<std::uint64_t>(1 + n % 6)) == 0;
      if (n == 0) std::fill(flags.begin(), flags.end(), std::uint8_t{0});
      std::vector<std::uint16_t> whole(size);
      REQUIRE(ranking.top(row, whole) == size);
      const auto expected = std::find_if(whole.begin(), whole.end(), [&](std::uint16_t m) { return flags[m] != 0; });
      const auto first = ranking.first(row, flags);
      REQUIRE(first.has_value() == (expected != whole.end()));
      if (first) CHECK(*first == *expected);
    }
  }
}

TEST_CASE("a server that leaves moves only what it had") {
  Epoch epoch = pool();
  const Ranking before(epoch);
  std::erase_if(epoch.members, [](const auto& m) { return m.id == "gamma"; });
  const Ranking after(epoch);
  for (std::size_t row = 0; row < kRows; row += 7) {
    const std::string was = order(before, static_cast<std::uint16_t>(row), 1);
    if (was != "gamma") CHECK(order(after, static_cast<std::uint16_t>(row), 1) == was);
  }
}

TEST_CASE("extreme weights neither overflow nor tie") {
  const Ranking ranking(Epoch{{{"heavy", 0xffffffff}, {"light", 1}}, counting_key()});
  int light = 0;
  for (std::size_t row = 0; row < kRows; ++row) light += order(ranking, static_cast<std::uint16_t>(row), 1) == "light";
  CHECK(light <= 1);
  const Ranking empty(Epoch{});
  std::uint16_t rank = 0;
  CHECK(empty.top(5, {&rank, 1}) == 0);
}
