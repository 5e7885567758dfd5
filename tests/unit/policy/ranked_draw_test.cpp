// SPDX-License-Identifier: BSD-3-Clause
#include "policy/ranked_draw.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

namespace {

using Weights = std::vector<std::uint32_t>;

/// By the definition: all orders in which these servers can be the first ranks.
std::vector<double> by_enumeration(const Weights& weights, double total) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> shares(weights.size());
  do {
    double probability = 1;
    double rest = total;
    for (const std::size_t i : order) {
      probability *= weights[i] / rest;
      rest -= weights[i];
    }
    shares[order[0]] += probability;
  } while (std::next_permutation(order.begin(), order.end()));
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= sum;
  return shares;
}

std::vector<double> found(const Weights& weights, std::uint64_t total) {
  const Shares shares = first_rank_shares(weights, total);
  const auto sum = static_cast<double>(std::accumulate(shares.begin(), shares.end(), std::uint64_t{0}));
  std::vector<double> out;
  for (std::size_t i = 0; i < weights.size(); ++i) out.push_back(static_cast<double>(shares[i]) / sum);
  return out;
}

double difference(const Weights& weights, std::uint64_t total) {
  const auto one = by_enumeration(weights, static_cast<double>(total));
  const auto two = found(weights, total);
  double worst = 0;
  for (std::size_t i = 0; i < one.size(); ++i) worst = std::max(worst, std::abs(one[i] - two[i]));
  return worst;
}

}  // namespace

TEST_CASE("servers that are all there are have shares like their weights") {
  const auto shares = found({1, 2, 3, 6}, 12);
  const double expected[] = {1. / 12, 2. / 12, 3. / 12, 6. / 12};
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(shares[i] - expected[i]) < 1e-6);
}

TEST_CASE("a few of very many have equal shares: that they are the first says it all") {
  const auto shares = found({1, 2, 6}, 1000000000);
  for (const double share : shares) CHECK(std::abs(share - 1. / 3) < 1e-6);
}

TEST_CASE("the shares are those of all orders, one by one") {
  test::SeededRandom random(1);
  for (int round = 0; round < 300; ++round) {
    Weights weights(1 + random.below(round % 50 == 0 ? kMaxRankedDraw : 6));
    const std::uint64_t heaviest = std::uint64_t{1} << random.below(33);
    for (auto& w : weights) w = static_cast<std::uint32_t>(1 + random.below(std::min<std::uint64_t>(heaviest, 0xffffffff)));
    const std::uint64_t ours = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    const std::uint64_t total = ours + random.below(ours << random.below(16));
    CAPTURE(weights.size());
    CAPTURE(heaviest);
    CAPTURE(total);
    CHECK(difference(weights, total) < 1e-4);
  }
}

TEST_CASE("extreme weights neither overflow nor vanish") {
  CHECK(difference({0xffffffff, 0xffffffff, 0xffffffff}, std::uint64_t{0xffffffff} * 3) < 1e-4);
  CHECK(difference({0xffffffff, 0xffffffff}, std::uint64_t{0xffffffff} * 65535) < 1e-4);
  CHECK(difference({0xffffffff, 1}, std::uint64_t{1} << 32) < 1e-4);
  CHECK(difference({1, 1, 1, 1, 1, 1, 1, 1}, std::uint64_t{0xffffffff} * 65535) < 1e-4);
  CHECK(difference({0xffffffff, 1, 1, 1, 1, 1, 1, 1}, std::uint64_t{0xffffffff} + 7) < 1e-4);
  const Shares shares = first_rank_shares(Weights{0xffffffff, 1, 1}, std::uint64_t{1} << 48);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(shares[i] >= 1);
    CHECK(shares[i] < std::uint64_t{1} << 33);
  }
}
