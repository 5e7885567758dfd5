// SPDX-License-Identifier: BSD-3-Clause
// A MemberSelector with members named A, B, C ... and its choices as text: what RFC 5356's rules are easily read in.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "asrp/policy/member_selection.hpp"
#include "support/seeded_random.hpp"

namespace asrp::test {

/// A member that is fully utilized.
inline constexpr std::uint32_t kFull = 0xffffffff;

/// Of a member's utilization.
inline std::uint32_t percent(std::uint32_t p) { return static_cast<std::uint32_t>(std::uint64_t{kFull} * p / 100); }

struct SelectionPool {
  static constexpr Duration kLoadAge = std::chrono::seconds(5);

  explicit SelectionPool(policy::SelectionPolicy policy, std::uint64_t seed = 1)
      : random(seed), selector(policy, random, kLoadAge) {}

  /// One member a letter, with these weights.
  SelectionPool& weights(const std::vector<std::uint32_t>& all) {
    members.clear();
    for (const std::uint32_t weight : all) {
      members.push_back({std::string(1, static_cast<char>('A' + members.size())), weight, 0, 0, true});
    }
    selector.set_members(members);
    candidates.resize(all.size());
    std::iota(candidates.begin(), candidates.end(), std::uint16_t{0});
    return *this;
  }
  SelectionPool& loads(const std::vector<std::uint32_t>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) selector.report_load(now, i, all[i]);
    return *this;
  }
  SelectionPool& degradations(const std::vector<std::uint32_t>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) members[i].degradation = all[i];
    selector.set_members(members);
    return *this;
  }
  SelectionPool& priorities(const std::vector<std::uint32_t>& all) {
    for (std::size_t i = 0; i < all.size(); ++i) members[i].priority = all[i];
    selector.set_members(members);
    return *this;
  }

  [[nodiscard]] std::string name(std::uint16_t member) const { return members[member].id; }
  /// `n` choices among all, or among those named; '-' where nobody can be chosen.
  std::string choices(std::size_t n, const std::string& among = "") {
    std::vector<std::uint16_t> list;
    for (const char c : among) list.push_back(static_cast<std::uint16_t>(c - 'A'));
    std::string text;
    for (std::size_t i = 0; i < n; ++i) {
      const auto chosen = selector.choose(now, among.empty() ? candidates : list);
      text += chosen ? name(*chosen) : "-";
    }
    return text;
  }
  /// One reply of at most `n`.
  std::string reply(std::size_t n) {
    std::vector<std::uint16_t> out(n);
    out.resize(selector.select(now, candidates, out));
    std::string text;
    for (const std::uint16_t member : out) text += name(member);
    return text;
  }

  SeededRandom random;
  policy::MemberSelector selector;
  std::vector<policy::SelectionMember> members;
  std::vector<std::uint16_t> candidates;
  TimePoint now{};
};

}  // namespace asrp::test
