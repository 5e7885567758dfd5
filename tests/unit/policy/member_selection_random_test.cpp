// SPDX-License-Identifier: BSD-3-Clause
// What the random policies do: distributions by a chi-square test, and properties that hold for any pool and history.
//
// The seeds are fixed, so a test gives the same statistic at each run. The thresholds are those that a right program exceeds
// with one seed in a thousand; a distribution that is off by a few per cent exceeds them many times over at these numbers.
#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <set>

#include "asrp/policy/member_selection.hpp"
#include "asrp/policy/query_list.hpp"
#include "support/selection_pool.hpp"

using namespace asrp;
using namespace asrp::policy;
using asrp::test::kFull;
using asrp::test::percent;
using asrp::test::SelectionPool;

namespace {

using enum SelectionPolicy;

constexpr std::size_t kDraws = 60000;

/// Quantile 0.999 of the chi-square distribution with 1 to 9 degrees of freedom.
constexpr double kThreshold[] = {0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12, 27.88};

/// Of `text`, in which letter A + i is expected with the probability shares[i] / sum.
double chi_square(const std::string& text, const std::vector<double>& shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  double statistic = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double expected = static_cast<double>(text.size()) * shares[i] / sum;
    const auto seen = static_cast<double>(std::count(text.begin(), text.end(), static_cast<char>('A' + i)));
    if (expected == 0) {
      CHECK(seen == 0);
    } else {
      statistic += (seen - expected) * (seen - expected) / expected;
    }
  }
  return statistic;
}

void check_shares(const std::string& text, const std::vector<double>& shares) {
  const auto kinds = static_cast<std::size_t>(std::count_if(shares.begin(), shares.end(), [](double s) { return s > 0; }));
  const double statistic = chi_square(text, shares);
  CAPTURE(statistic);
  CHECK(statistic < kThreshold[kinds - 1]);
}

}  // namespace

TEST_CASE("the test itself: shares that are off by three per cent are found out") {
  SelectionPool pool(SelectionPolicy::random, 7);
  const std::string text = pool.weights({1, 1, 1}).choices(kDraws);
  CHECK(chi_square(text, {1.03, 1, 0.97}) > kThreshold[2]);
}

TEST_CASE("random: each with the same probability, whatever the weights (4.3.2)") {
  check_shares(SelectionPool(SelectionPolicy::random, 1).weights({1, 1, 1, 1, 1}).choices(kDraws), {1, 1, 1, 1, 1});
  check_shares(SelectionPool(SelectionPolicy::random, 2).weights({9, 1, 0, 5}).choices(kDraws), {1, 1, 0, 1});
  SelectionPool pool(SelectionPolicy::random, 3);
  pool.weights({1, 1, 1, 1});
  check_shares(pool.choices(kDraws, "BD"), {0, 1, 0, 1});
}

TEST_CASE("weighted random: in proportion to the weights (4.4.2)") {
  check_shares(SelectionPool(weighted_random, 4).weights({1, 2, 3, 4}).choices(kDraws), {1, 2, 3, 4});
  check_shares(SelectionPool(weighted_random, 5).weights({1, 1, 1}).choices(kDraws), {1, 1, 1});
  check_shares(SelectionPool(weighted_random, 6).weights({kFull, kFull, 0, kFull}).choices(kDraws), {1, 1, 0, 1});
  check_shares(SelectionPool(weighted_random, 7).weights({kFull, kFull / 2}).choices(kDraws), {2, 1});
  SelectionPool pool(weighted_random, 8);
  pool.weights({10, 20, 30, 40});
  pool.selector.set_usable(1, false);
  check_shares(pool.choices(kDraws), {1, 0, 3, 4});
  std::string firsts;
  for (std::size_t i = 0; i < kDraws; ++i) firsts += pool.reply(1);
  check_shares(firsts, {1, 0, 3, 4});
}

TEST_CASE("weighted random: also the second and third of a reply, from what is left (4.4.2)") {
  SelectionPool pool(weighted_random, 9);
  pool.weights({1, 2, 3});
  std::map<std::string, double> seen;
  for (std::size_t i = 0; i < kDraws; ++i) ++seen[pool.reply(3)];
  const std::map<std::string, double> expected = {{"ABC", 1. / 6 * 2 / 5}, {"ACB", 1. / 6 * 3 / 5}, {"BAC", 2. / 6 * 1 / 4},
                                                  {"BCA", 2. / 6 * 3 / 4}, {"CAB", 3. / 6 * 1 / 3}, {"CBA", 3. / 6 * 2 / 3}};
  double statistic = 0;
  for (const auto& [reply, probability] : expected) {
    const double n = probability * kDraws;
    statistic += (seen[reply] - n) * (seen[reply] - n) / n;
  }
  CHECK(seen.size() == expected.size());
  CHECK(statistic < kThreshold[5]);
}

TEST_CASE("weighted random among a flow's first ranks: each server has what its weight says, for any number of choices") {
  constexpr std::uint32_t kWeights[] = {1, 1, 2, 3, 5, 8, 4, 6, 7};
  std::vector<PoolServer> servers;
  for (const std::uint32_t weight : kWeights) {
    servers.push_back({std::string(1, static_cast<char>('A' + servers.size())), weight, true, true});
  }
  const Pool placement(servers, HashKey{}, {}, 2);
  for (const std::size_t choices : {2u, 3u, 8u, 9u}) {
    CAPTURE(choices);
    SelectionPool pool(weighted_random, 15);
    pool.weights(std::vector<std::uint32_t>(std::begin(kWeights), std::end(kWeights)));
    std::string text;
    for (std::size_t i = 0; i < kDraws; ++i) {
      const Tuple flow{
          {IpAddress::v4(static_cast<std::uint32_t>(pool.random.next())), 1}, {IpAddress::v4(1), 80}, Protocol::tcp};
      std::uint16_t ranks[9];
      const std::size_t count = placement.ranks(flow, std::span(ranks).first(choices));
      text += pool.name(*pool.selector.choose(pool.now, std::span(ranks).first(count)));
    }
    check_shares(text, {1, 1, 2, 3, 5, 8, 4, 6, 7});
  }
}

TEST_CASE("randomized least used: in proportion to what is not utilized (5.4.1)") {
  check_shares(SelectionPool(randomized_least_used, 10).weights({1, 1, 1}).loads({percent(90), percent(50), 0}).choices(kDraws),
               {10, 50, 100});
  check_shares(SelectionPool(randomized_least_used, 11).weights({8, 1, 1}).loads({kFull, percent(25), 0}).choices(kDraws),
               {0, 75, 100});
  check_shares(SelectionPool(randomized_least_used, 12).weights({1, 1, 1}).loads({0, 0, 0}).choices(kDraws), {1, 1, 1});
  check_shares(SelectionPool(randomized_least_used, 13).weights({1, 1, 1}).loads({kFull, kFull, kFull}).choices(kDraws),
               {1, 1, 1});
}

TEST_CASE("randomized least used with an unknown load: that member has its share, the rest is divided by load") {
  SelectionPool pool(randomized_least_used, 14);
  pool.weights({1, 1, 1, 1});
  pool.selector.report_load(pool.now, 0, percent(20));
  pool.selector.report_load(pool.now, 1, percent(60));
  pool.selector.report_load(pool.now, 3, kFull);
  const std::string text = pool.choices(kDraws);
  CHECK(std::count(text.begin(), text.end(), 'C') == kDraws / 4);
  std::string rest = text;
  std::erase(rest, 'C');
  check_shares(rest, {80, 40, 0, 0});
}

TEST_CASE("numbers that would favour some members are drawn again") {
  class Script final : public RandomSource {
   public:
    void fill(MutableOctets out) override {
      std::fill(out.begin(), out.end(), calls_++ < 2 * 63 ? std::uint8_t{0xff} : std::uint8_t{2});
    }

   private:
    int calls_ = 0;  // two for a number
  };
  const std::vector<SelectionMember> members = {{"a", 1, 0, 0, true}, {"b", 1, 0, 0, true}, {"c", 1, 0, 0, true}};
  for (const std::size_t count : {2u, 3u}) {
    CAPTURE(count);
    Script script;  // 2^64 - 1, which would be one odd number more than even ones, and one multiple of 3 more than others
    MemberSelector selector(SelectionPolicy::random, script, std::chrono::seconds(1));
    selector.set_members(std::span(members).first(count));
    CHECK(selector.choose(TimePoint{}, selector.everyone()) == (count == 2 ? 0 : 1));  // 0x0202020202020202
  }
}

TEST_CASE("a source of randomness that always says the same ends no worse than with a choice") {
  class Stuck final : public RandomSource {
   public:
    void fill(MutableOctets out) override { std::fill(out.begin(), out.end(), std::uint8_t{0xff}); }
  };
  Stuck stuck;
  for (const SelectionPolicy policy : {SelectionPolicy::random, weighted_random, randomized_least_used}) {
    MemberSelector selector(policy, stuck, std::chrono::seconds(1));
    const std::vector<SelectionMember> members = {{"a", 3, 0, 0, true}, {"b", 4, 0, 0, true}, {"c", 5, 0, 0, true}};
    selector.set_members(members);
    for (std::size_t i = 0; i < 3; ++i) selector.report_load(TimePoint{}, i, 7);
    CHECK(selector.choose(TimePoint{}, selector.everyone()).has_value());
  }
}

namespace {

/// A pool whose members, health and loads change at random, and what must hold of each choice.
class RandomHistory {
 public:
  RandomHistory(SelectionPolicy policy, std::uint64_t seed) : random_(seed), dice_(seed + 1), selector_(policy, random_, kAge) {
    for (int i = 0; i < 6; ++i) join();
    selector_.set_members(members_);
  }

  void step() {
    now_ += std::chrono::milliseconds(dice_.below(400));
    const std::size_t who = members_.empty() ? 0 : dice_.below(members_.size());
    switch (dice_.below(8)) {
      case 0:
        if (members_.size() < 24) join();
        selector_.set_members(members_);
        break;
      case 1:
        if (!members_.empty()) members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(who));
        std::reverse(members_.begin(), members_.end());
        selector_.set_members(members_);
        break;
      case 2:
        if (!members_.empty()) selector_.set_usable(who, members_[who].usable = dice_.one_in(2));
        break;
      case 3:
      case 4:
        if (!members_.empty()) selector_.report_load(now_, who, load());
        break;
      default:
        check_reply();
    }
  }

 private:
  static constexpr Duration kAge = std::chrono::seconds(2);

  std::uint32_t load() { return dice_.one_in(4) ? kFull : static_cast<std::uint32_t>(dice_.next() >> 32); }
  void join() {
    const auto weight = static_cast<std::uint32_t>(dice_.below(5));
    const auto degradation = static_cast<std::uint32_t>(dice_.next() >> (32 + dice_.below(32)));
    members_.push_back(
        {"m" + std::to_string(++joined_), weight, static_cast<std::uint32_t>(dice_.below(3)), degradation, true});
  }
  std::vector<std::uint16_t> some_candidates() {
    std::vector<std::uint16_t> list(selector_.everyone().begin(), selector_.everyone().end());
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[dice_.below(i)]);
    list.resize(dice_.below(list.size() + 1));
    return list;
  }
  void check_reply() {
    const auto candidates = some_candidates();
    std::vector<std::uint16_t> out(dice_.below(6));
    const std::size_t count = selector_.select(now_, candidates, out);
    REQUIRE(count <= out.size());
    std::set<std::uint16_t> seen;
    std::size_t able = 0;
    for (const std::uint16_t c : candidates) able += members_[c].usable && members_[c].weight != 0;
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(std::find(candidates.begin(), candidates.end(), out[i]) != candidates.end());
      CHECK(members_[out[i]].usable);
      CHECK(members_[out[i]].weight != 0);
      CHECK(seen.insert(out[i]).second);
    }
    // All are reported that can be; but of randomized least used, fully loaded ones are left out.
    if (selector_.policy() != randomized_least_used) CHECK(count == std::min(able, out.size()));
    if (able > 0 && !out.empty()) CHECK(count > 0);
    check_order(std::span(out).first(count));
  }
  void check_order(std::span<const std::uint16_t> reply) {
    for (std::size_t i = 2; i < reply.size(); ++i) {  // the first may be one of unknown load that had its turn
      const auto one = selector_.load(now_, reply[i - 1]);
      const auto two = selector_.load(now_, reply[i]);
      if (selector_.policy() == least_used) CHECK((!two || (one && *one <= *two)));
      if (selector_.policy() == priority) CHECK(members_[reply[i - 1]].priority >= members_[reply[i]].priority);
    }
  }

  test::SeededRandom random_;
  test::SeededRandom dice_;
  MemberSelector selector_;
  std::vector<SelectionMember> members_;
  TimePoint now_{};
  int joined_ = 0;
};

}  // namespace

TEST_CASE("any pool, any history: only usable candidates, none twice, as many as there are, in the policy's order") {
  for (std::uint8_t policy = 0; policy < kSelectionPolicyCount; ++policy) {
    CAPTURE(to_string(static_cast<SelectionPolicy>(policy)));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      RandomHistory history(static_cast<SelectionPolicy>(policy), 1000 * policy + seed);
      for (int i = 0; i < 400; ++i) history.step();
    }
  }
}

TEST_CASE("the same inputs and seed give the same choices") {
  for (std::uint8_t policy = 0; policy < kSelectionPolicyCount; ++policy) {
    SelectionPool one(static_cast<SelectionPolicy>(policy), 5);
    SelectionPool two(static_cast<SelectionPolicy>(policy), 5);
    for (SelectionPool* pool : {&one, &two}) pool->weights({1, 2, 3, 4}).degradations({9, 8, 7, 6}).loads({4, 3, 2, 1});
    CHECK(one.choices(200) == two.choices(200));
  }
}
