// SPDX-License-Identifier: BSD-3-Clause
// RFC 5356's rules, sequence by sequence, over a whole pool. What the random policies do is in
// member_selection_random_test.cpp.
#include "asrp/policy/member_selection.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/selection_pool.hpp"

using namespace asrp;
using namespace asrp::policy;
using asrp::test::kFull;
using asrp::test::percent;
using asrp::test::SelectionPool;

namespace {

using enum SelectionPolicy;

}  // namespace

TEST_CASE("hash: the first of the candidates that is usable, in the caller's order") {
  SelectionPool pool(hash);
  pool.weights({1, 9, 1});
  CHECK(pool.choices(4) == "AAAA");
  CHECK(pool.choices(2, "CBA") == "CC");
  pool.selector.set_usable(2, false);
  CHECK(pool.choices(2, "CBA") == "BB");
  CHECK(pool.reply(5) == "AB");
}

TEST_CASE("round robin: a circular list whose head advances by one with each reply (4.1.2)") {
  SelectionPool pool(round_robin);
  pool.weights({1, 1, 1});
  CHECK(pool.choices(9) == "ABCABCABC");
  CHECK(pool.reply(3) == "ABC");
  CHECK(pool.reply(3) == "BCA");
  CHECK(pool.reply(2) == "CA");
  CHECK(pool.reply(9) == "ABC");
}

TEST_CASE("round robin takes no notice of weights, but 0 can't serve (3.2)") {
  SelectionPool pool(round_robin);
  pool.weights({1, 0, 900, 7});
  CHECK(pool.choices(6) == "ACDACD");
}

TEST_CASE("weighted round robin with weights of 1 is round robin (4.2.1)") {
  SelectionPool pool(weighted_round_robin);
  pool.weights({1, 1, 1, 1});
  CHECK(pool.choices(8) == "ABCDABCD");
  CHECK(pool.reply(4) == "ABCD");
  CHECK(pool.reply(4) == "BCDA");
  SelectionPool heavy(weighted_round_robin);
  heavy.weights({70, 70, 70});
  CHECK(heavy.choices(6) == "ABCABC");
}

TEST_CASE("weighted round robin: entries of each as evenly spread as possible (4.2.2)") {
  const auto sequence = [](const std::vector<std::uint32_t>& weights, std::size_t n) {
    return SelectionPool(weighted_round_robin).weights(weights).choices(n);
  };
  CHECK(sequence({1, 3}, 8) == "BBBABBBA");
  CHECK(sequence({2, 3}, 10) == "BABBABABBA");
  CHECK(sequence({5, 1, 1}, 14) == "AAABAACAAABAAC");
  CHECK(sequence({2, 1, 1}, 8) == "ABACABAC");
  CHECK(sequence({4, 1, 1, 1, 1}, 8) == "ABACADAE");
  CHECK(sequence({3, 3, 1, 1}, 8) == "ABABCABD");
  CHECK(sequence({1, 0, 2}, 6) == "CCACCA");
  CHECK(sequence({0, 0}, 2) == "--");
}

TEST_CASE("priority: the highest first, replies in decreasing order, equals in the caller's order on every node (4.5.2)") {
  SelectionPool pool(priority);
  pool.weights({1, 1, 1, 1}).priorities({5, kFull, 7, kFull});
  CHECK(pool.choices(3) == "BBB");
  CHECK(pool.choices(3, "DCBA") == "DDD");
  CHECK(pool.reply(4) == "BDCA");
  CHECK(pool.reply(2) == "BD");
  pool.selector.set_usable(1, false);
  pool.selector.set_usable(3, false);
  CHECK(pool.choices(2) == "CC");
  pool.selector.set_usable(3, true);
  CHECK(pool.choices(2) == "DD");
}

TEST_CASE("least used: the lowest load, round robin between equals, replies in ascending order (5.1.2)") {
  SelectionPool pool(least_used);
  pool.weights({1, 1, 1}).loads({5, 5, 9});
  CHECK(pool.choices(6) == "ABABAB");
  CHECK(pool.reply(3) == "ABC");
  CHECK(pool.reply(3) == "BAC");
  pool.loads({kFull, kFull, kFull});
  CHECK(pool.choices(6) == "CABCAB");
  pool.loads({kFull, kFull - 1, kFull});
  CHECK(pool.choices(3) == "BBB");
  pool.loads({1, 0, 2});
  CHECK(pool.reply(9) == "BAC");
}

TEST_CASE("least used with degradation: load and what the new sessions add to it (5.2.2)") {
  SelectionPool pool(least_used_degradation);
  pool.weights({1, 1}).degradations({percent(10), percent(10)}).loads({0, 2 * percent(10)});
  CHECK(pool.choices(10) == "AABABABABA");
  SelectionPool uneven(least_used_degradation);
  uneven.weights({1, 1}).degradations({percent(10), 2 * percent(10)}).loads({0, 0});
  CHECK(uneven.choices(12) == "ABABAABAABAA");
}

TEST_CASE("the degradation counter begins anew with a report and a changed registration, not when others change (5.2.2)") {
  SelectionPool pool(least_used_degradation);
  pool.weights({1, 1}).degradations({100, 100}).loads({0, 150});
  CHECK(pool.choices(3) == "AAB");
  pool.selector.report_load(pool.now, 0, 0);
  CHECK(pool.choices(2) == "AA");
  pool.members[0].degradation = 99;
  pool.selector.set_members(pool.members);
  CHECK(pool.choices(3) == "AAA");  // 0, 99, 198: B stands at 250
  pool.selector.set_members(pool.members);
  CHECK(pool.choices(1) == "B");  // 297 stays
}

TEST_CASE("each member of a reply counts for degradation (5.2.2)") {
  SelectionPool pool(least_used_degradation);
  pool.weights({1, 1, 1}).degradations({10, 10, 10}).loads({0, 5, 100});
  CHECK(pool.reply(2) == "AB");
  CHECK(pool.reply(2) == "AB");  // 10 and 15
  CHECK(pool.choices(1) == "A");
  CHECK(pool.choices(1) == "B");
  CHECK(pool.choices(1) == "A");
}

TEST_CASE("degradation saturates at full load, however long no report comes") {
  SelectionPool pool(least_used_degradation);
  pool.weights({1, 1}).degradations({kFull, percent(50)}).loads({1, 0});
  CHECK(pool.choices(2) == "BA");  // A is full from then on
  CHECK(pool.choices(2) == "BB");  // and B after these: 50, 100 per cent less rounding, full
  CHECK(pool.choices(6) == "ABABAB");
  pool.loads({0, kFull});
  CHECK(pool.choices(5) == "ABABA");
}

TEST_CASE("priority least used: load and degradation of one more session, which doesn't grow (5.3.1, 5.3.2)") {
  SelectionPool pool(priority_least_used);
  pool.weights({1, 1}).degradations({percent(10), percent(50)}).loads({percent(50), percent(50)});
  CHECK(pool.choices(4) == "AAAA");
  SelectionPool equal(priority_least_used);
  equal.weights({1, 1, 1}).degradations({20, 10, 90}).loads({50, 60, 10});
  CHECK(equal.choices(6) == "ABABAB");
  CHECK(equal.reply(3) == "ABC");
  SelectionPool full(priority_least_used);
  full.weights({1, 1, 1}).degradations({kFull, 1, 0}).loads({kFull, kFull, kFull - 1});
  CHECK(full.choices(2) == "CC");
  full.selector.report_load(full.now, 2, kFull);
  CHECK(full.choices(6) == "ABCABC");
}

TEST_CASE("weight 0 and members that aren't usable are chosen by no policy; nobody left is nobody chosen") {
  for (std::uint8_t i = 0; i < kSelectionPolicyCount; ++i) {
    const auto policy = static_cast<SelectionPolicy>(i);
    CAPTURE(to_string(policy));
    SelectionPool pool(policy);
    pool.weights({0, 1, 1}).priorities({9, 1, 2}).loads({0, 5, 6});
    pool.selector.set_usable(2, false);
    CHECK(pool.choices(20) == std::string(20, 'B'));
    CHECK(pool.reply(3) == "B");
    pool.selector.set_usable(1, false);
    CHECK(pool.choices(1) == "-");
    CHECK(pool.reply(3).empty());
    pool.selector.set_usable(2, true);
    CHECK(pool.choices(20) == std::string(20, 'C'));
    CHECK(pool.choices(1, "AB") == "-");
    CHECK_FALSE(pool.selector.choose(pool.now, {}).has_value());
    pool.selector.set_members({});
    CHECK(pool.selector.size() == 0);
    CHECK_FALSE(pool.selector.choose(pool.now, pool.selector.everyone()).has_value());
  }
}

TEST_CASE("no load known: round robin, whichever the adaptive policy") {
  for (const SelectionPolicy policy : {least_used, least_used_degradation, priority_least_used, randomized_least_used}) {
    CAPTURE(to_string(policy));
    SelectionPool pool(policy);
    pool.weights({1, 1, 1}).degradations({1, 2, 3});
    CHECK(pool.choices(9) == "ABCABCABC");
    CHECK(pool.reply(3) == "ABC");
    CHECK(pool.reply(3) == "BCA");
  }
}

TEST_CASE("a member of unknown load has its share of a round robin, the others theirs by load") {
  for (const SelectionPolicy policy : {least_used, least_used_degradation, priority_least_used}) {
    CAPTURE(to_string(policy));
    SelectionPool pool(policy);
    pool.weights({1, 1, 1, 1});
    pool.selector.report_load(pool.now, 0, 90);
    pool.selector.report_load(pool.now, 1, 10);
    pool.selector.report_load(pool.now, 3, 50);
    CHECK(pool.choices(12) == "BCBBBBCBBBCB");  // C once in four times, B for A, B and D
    CHECK(pool.reply(4) == "BDAC");             // ascending; unknown ones come last
  }
}

TEST_CASE("a load that is too old is unknown, until the next report") {
  SelectionPool pool(least_used);
  pool.weights({1, 1}).loads({0, 1});
  pool.now += SelectionPool::kLoadAge;
  CHECK(pool.selector.load(pool.now, 0) == 0u);
  CHECK(pool.choices(3) == "AAA");
  pool.selector.report_load(pool.now, 1, 1);
  pool.now += std::chrono::nanoseconds(1);
  CHECK_FALSE(pool.selector.load(pool.now, 0).has_value());
  CHECK(pool.choices(6) == "BABABA");  // half for A, of which nothing is known
  pool.selector.report_load(pool.now, 0, 0);
  CHECK(pool.choices(3) == "AAA");
}

TEST_CASE("fully loaded members get nothing while another is known to have room, unknown ones their share") {
  SelectionPool pool(randomized_least_used);
  pool.weights({1, 1, 1}).loads({kFull, kFull - 1, kFull});
  CHECK(pool.choices(20) == std::string(20, 'B'));
  CHECK(pool.reply(3) == "B");
  pool.loads({kFull, kFull, kFull});
  const std::string all = pool.choices(60);
  for (const char c : {'A', 'B', 'C'}) CHECK(std::count(all.begin(), all.end(), c) > 10);
  pool.now += SelectionPool::kLoadAge + std::chrono::seconds(1);
  pool.selector.report_load(pool.now, 0, kFull);
  CHECK(pool.choices(60).find('A') == std::string::npos);
}

TEST_CASE("to hear once more that a member is usable, or that it isn't, changes nothing") {
  SelectionPool told_once(weighted_random);
  SelectionPool told_often(weighted_random);
  for (SelectionPool* pool : {&told_once, &told_often}) {
    pool->weights({1, 2, 3, 9});
    pool->selector.set_usable(2, false);
  }
  for (int n = 0; n < 10; ++n) {
    told_often.selector.set_usable(1, true);
    told_often.selector.set_usable(2, false);
  }
  CHECK(told_often.choices(200, "AB") == told_once.choices(200, "AB"));
}

TEST_CASE("a rotation goes on where it was, whatever comes and goes") {
  SelectionPool pool(round_robin);
  pool.weights({1, 1, 1, 1});
  CHECK(pool.choices(2) == "AB");
  // B goes; the configuration names the rest in another order: ids count, not positions.
  pool.members = {{"D", 1, 0, 0, true}, {"C", 1, 0, 0, true}, {"A", 1, 0, 0, true}};
  pool.selector.set_members(pool.members);
  pool.candidates = {0, 1, 2};
  CHECK(pool.choices(6) == "CDACDA");
  // E comes: not twice in a row, and no longer than one round to wait.
  pool.members.push_back({"E", 1, 0, 0, true});
  pool.selector.set_members(pool.members);
  pool.candidates = {0, 1, 2, 3};
  const std::string after = pool.choices(12);
  for (const char c : {'A', 'C', 'D', 'E'}) CHECK(std::count(after.begin(), after.end(), c) == 3);
}

TEST_CASE("a weighted rotation goes on where it was, too") {
  SelectionPool pool(weighted_round_robin);
  pool.weights({5, 1, 1});
  CHECK(pool.choices(3) == "AAA");
  std::reverse(pool.members.begin(), pool.members.end());
  pool.selector.set_members(pool.members);
  CHECK(pool.choices(11) == "BAACAAABAAC");
}

TEST_CASE("of equals a new one has its turn after those that wait") {
  SelectionPool pool(least_used);
  pool.weights({1, 1}).loads({5, 5});
  CHECK(pool.choices(3) == "ABA");
  pool.members.push_back({"C", 1, 0, 0, true});
  pool.selector.set_members(pool.members);
  pool.candidates.push_back(2);
  pool.selector.report_load(pool.now, 2, 5);
  CHECK(pool.choices(6) == "BACBAC");
}

TEST_CASE("who was away doesn't catch up") {
  for (const SelectionPolicy policy : {round_robin, weighted_round_robin}) {
    SelectionPool pool(policy);
    pool.weights({1, 1, 1});
    pool.selector.set_usable(1, false);
    CHECK(pool.choices(1000).find('B') == std::string::npos);
    pool.selector.set_usable(1, true);
    const std::string after = pool.choices(30);
    CHECK(std::count(after.begin(), after.end(), 'B') == 10);
    CHECK(after.find("BB") == std::string::npos);
  }
}

TEST_CASE("who comes and goes all the time gets no more than its share") {
  SelectionPool pool(round_robin);
  pool.weights({1, 1, 1, 1});
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    all += pool.choices(1);
    pool.selector.set_usable(3, false);
    pool.selector.set_usable(3, true);
    if (i % 3 == 0) {
      pool.selector.set_usable(3, false);
      all += pool.choices(1);
      pool.selector.set_usable(3, true);
    }
  }
  const auto share = std::count(all.begin(), all.end(), 'D');
  CHECK(share <= static_cast<std::ptrdiff_t>(all.size()) / 4 + 5);
  CHECK(share >= 200);
}

TEST_CASE("a choice among a part of the members is made good when the part allows it") {
  SelectionPool pool(round_robin);
  pool.weights({1, 1, 1, 1});
  std::string all;
  const char* parts[] = {"AB", "AC", "AD", "BC"};
  for (int i = 0; i < 400; ++i) all += pool.choices(1, parts[i % 4]);
  for (const char c : {'A', 'B', 'C', 'D'}) {
    CAPTURE(c);
    CHECK(std::count(all.begin(), all.end(), c) >= 99);
    CHECK(std::count(all.begin(), all.end(), c) <= 101);
  }
}
