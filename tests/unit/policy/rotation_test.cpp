// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/rotation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

namespace {

using Weights = std::vector<std::uint32_t>;

Rotation rotation_of(const Weights& weights) {
  Rotation rotation;
  rotation.reshape(std::vector<std::int32_t>(weights.size(), -1));
  for (std::size_t i = 0; i < weights.size(); ++i) rotation.set_weight(i, weights[i]);
  rotation.settle();
  return rotation;
}

/// Of equals the smaller index.
std::size_t turn(Rotation& rotation, const Weights& weights) {
  rotation.settle();
  std::size_t best = weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] != 0 && (best == weights.size() || rotation.before(i, best))) best = i;
  }
  rotation.charge(best);
  return best;
}

std::uint64_t sum(const Weights& weights) { return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}); }

Weights random_weights(test::SeededRandom& random, std::size_t most, std::uint64_t heaviest) {
  Weights weights(2 + random.below(most - 1));
  for (std::uint32_t& w : weights) w = static_cast<std::uint32_t>(1 + random.below(heaviest));
  return weights;
}

struct Furthest {
  double turns = 0;              // the most that any member was from its due
  bool less_than_a_turn = true;  // by exact arithmetic
};

Furthest furthest(const Weights& weights, std::uint64_t turns) {
  Rotation rotation = rotation_of(weights);
  const auto total = static_cast<std::int64_t>(sum(weights));
  std::vector<std::int64_t> count(weights.size());
  Furthest found;
  for (std::uint64_t k = 1; k <= turns; ++k) {
    ++count[turn(rotation, weights)];
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::int64_t off = std::abs(count[i] * total - static_cast<std::int64_t>(k * weights[i]));  // in 1/total
      found.turns = std::max(found.turns, static_cast<double>(off) / static_cast<double>(total));
      found.less_than_a_turn = found.less_than_a_turn && off < total;
    }
  }
  return found;
}

}  // namespace

TEST_CASE("after as many turns as the sum of weights each has had exactly its weight, for ever") {
  test::SeededRandom random(1);
  for (int pool = 0; pool < 300; ++pool) {
    const Weights weights = random_weights(random, 8, 20);
    Rotation rotation = rotation_of(weights);
    for (int round = 0; round < 5; ++round) {
      Weights count(weights.size());
      for (std::uint64_t k = 0; k < sum(weights); ++k) ++count[turn(rotation, weights)];
      CHECK(count == weights);
    }
  }
}

TEST_CASE("no member is ever further from its due than one turn") {
  test::SeededRandom random(2);
  double worst = 0;
  for (int pool = 0; pool < 1500; ++pool) {
    const Weights weights = random_weights(random, pool % 10 == 0 ? 40 : 7, pool % 3 == 0 ? 1000 : 12);
    const Furthest found = furthest(weights, std::min<std::uint64_t>(2 * sum(weights), 1000));
    CHECK(found.less_than_a_turn);
    worst = std::max(worst, found.turns);
  }
  CHECK(worst > 0.7);  // pools that are hard to spread were among them
}

TEST_CASE("the hard cases: one heavy among many light ones, and weights far apart") {
  Weights weights(21, 1);
  weights[7] = 20;
  CHECK(furthest(weights, 400).less_than_a_turn);
  CHECK(furthest({1, 1000}, 3003).less_than_a_turn);
  CHECK(furthest({0xffffffff, 0xfffffffe, 1}, 3000).less_than_a_turn);
  CHECK(furthest({0xffffffff, 1}, 3000).less_than_a_turn);
  CHECK(furthest(Weights(1000, 0xffffffff), 3000).less_than_a_turn);
}

TEST_CASE("nothing is lost by rounding where weights are as large as can be") {
  Weights weights(21, 200000000);
  weights[7] = 4000000000;
  CHECK(furthest(weights, 4000).less_than_a_turn);
  CHECK(furthest({4294967291, 3, 2147483647, 2147483629}, 4000).less_than_a_turn);
}

TEST_CASE("not clustered: no turn comes later than twice the member's spacing after the one before") {
  test::SeededRandom random(3);
  for (int pool = 0; pool < 500; ++pool) {
    const Weights weights = random_weights(random, 6, 12);
    Rotation rotation = rotation_of(weights);
    std::vector<std::uint64_t> last(weights.size(), 0);
    for (std::uint64_t k = 1; k <= 4 * sum(weights); ++k) {
      const std::size_t who = turn(rotation, weights);
      const double spacing = static_cast<double>(sum(weights)) / weights[who];
      CHECK(static_cast<double>(k - last[who]) < 2 * spacing + 1e-6);
      last[who] = k;
    }
  }
}

TEST_CASE("weights may change at any time: afterwards each has its due, but for two turns") {
  test::SeededRandom random(4);
  for (int pool = 0; pool < 200; ++pool) {
    Weights weights = random_weights(random, 8, 9);
    Rotation rotation = rotation_of(weights);
    for (int change = 0; change < 20; ++change) {
      const std::size_t who = random.below(weights.size());
      weights[who] = static_cast<std::uint32_t>(random.below(10));
      if (sum(weights) == 0) weights[who] = 1;
      rotation.set_weight(who, weights[who]);
      const std::uint64_t turns = 1 + random.below(60);
      std::vector<std::uint64_t> count(weights.size());
      for (std::uint64_t k = 0; k < turns; ++k) ++count[turn(rotation, weights)];
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double due = static_cast<double>(turns) * weights[i] / static_cast<double>(sum(weights));
        CHECK(std::abs(static_cast<double>(count[i]) - due) <= 2.01);
      }
    }
  }
}

TEST_CASE("changes after each turn don't distort the shares of those that stay") {
  const Weights weights = {1, 2, 3, 4};
  Weights now = weights;
  now.push_back(2);
  Rotation rotation = rotation_of(now);
  std::vector<int> count(now.size());
  for (int k = 0; k < 12000; ++k) {
    ++count[turn(rotation, now)];
    now[4] = now[4] == 0 ? 2 : 0;
    rotation.set_weight(4, now[4]);
  }
  const int rest = 12000 - count[4];
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(count[i] - rest * static_cast<int>(weights[i]) / 10) <= rest / 100);
  CHECK(count[4] <= 1000 + 120);
}

TEST_CASE("members that stay keep their place when the list is put in another order") {
  const Weights weights = {3, 1, 2};
  Rotation one = rotation_of(weights);
  for (int k = 0; k < 4; ++k) turn(one, weights);
  Rotation two = one;
  const std::int32_t from[] = {2, 0, 1};
  two.reshape(from);
  const Weights moved = {2, 3, 1};
  for (std::size_t i = 0; i < moved.size(); ++i) two.set_weight(i, moved[i]);
  one.reshape(std::vector<std::int32_t>{0, 1, 2});
  for (std::size_t i = 0; i < weights.size(); ++i) one.set_weight(i, weights[i]);
  for (int k = 0; k < 30; ++k) {
    std::vector<std::size_t> served{turn(one, weights), static_cast<std::size_t>(from[turn(two, moved)])};
    CHECK(weights[served[0]] == weights[served[1]]);
  }
}

/// All that a rotation's account holds, in turns of a member of weight 1, and when it is brought back to zero.
constexpr int kMostUnits = 1 << 23;
constexpr int kRebased = 1 << 21;

TEST_CASE("an account that has grown for long is brought back to zero without a member noticing") {
  const Weights weights = {1, 2, 4};
  Rotation rotation = rotation_of({1, 0, 0});
  for (int k = 0; k < kMostUnits - 5; ++k) rotation.charge(0);
  for (std::size_t i = 0; i < weights.size(); ++i) rotation.set_weight(i, weights[i]);
  for (int round = 0; round < 20; ++round) {
    Weights count(weights.size());
    for (std::uint64_t k = 0; k < sum(weights); ++k) ++count[turn(rotation, weights)];
    for (std::size_t i = 0; i < weights.size(); ++i) CHECK(std::abs(static_cast<int>(count[i] - weights[i])) <= 1);
  }
}

TEST_CASE("what a member is owed stays when the account is brought back to zero") {
  Rotation rotation = rotation_of({1, 0});
  for (int k = 0; k < kRebased - 8; ++k) rotation.charge(0);
  rotation.set_weight(1, 1);
  rotation.settle();
  for (int k = 0; k < 32; ++k) rotation.charge(0);  // as if the other one could not serve
  int made_good = 0;
  while (made_good < 100 && turn(rotation, {1, 1}) == 1) ++made_good;
  CHECK(made_good == 32);
}
