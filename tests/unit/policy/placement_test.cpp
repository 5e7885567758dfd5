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

TEST_CASE("few ranks are those of the whole order, for pools and weights of all kinds") {
  SeededRandom random(1);
  for (int pool_number = 0; pool_number < 60; ++pool_number) {
    Epoch epoch{{}, counting_key()};
    const std::size_t size = 1 + random.below(pool_number % 20 == 0 ? 3000 : 40);
    const std::uint64_t heaviest = std::uint64_t{1} << random.below(33);
    for (std::size_t i = 0; i < size; ++i) {
      epoch.members.push_back({"m" + std::to_string(i), static_cast<std::uint32_t>(random.below(heaviest))});
    }
    const Ranking ranking(epoch);
    for (int row = 0; row < 20; ++row) {
      const auto number = static_cast<std::uint16_t>(random.next());
      std::vector<std::uint16_t> whole(size);  // more than is put in order one by one
      whole.resize(ranking.top(number, whole));
      for (const std::size_t few : {1, 3, 4, 16}) {
        std::uint16_t ranks[16];
        const std::size_t count = ranking.top(number, std::span(ranks).first(few));
        REQUIRE(count == std::min(few, whole.size()));
        CHECK(std::equal(ranks, ranks + count, whole.begin()));
      }
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
