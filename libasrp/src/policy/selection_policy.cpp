// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/selection_policy.hpp"

#include <array>
#include <cstddef>

namespace asrp::policy {
namespace {

constexpr std::uint32_t kAdaptive = 0x40000000;  // bit A of a policy number

struct Row {
  std::string_view name;
  std::uint32_t number;  // 0: none
};

constexpr std::array<Row, kSelectionPolicyCount> kPolicies{{
    {"hash", 0},
    {"round-robin", 1},
    {"weighted-round-robin", 2},
    {"random", 3},
    {"weighted-random", 4},
    {"priority", 5},
    {"least-used", kAdaptive | 1},
    {"least-used-degradation", kAdaptive | 2},
    {"priority-least-used", kAdaptive | 3},
    {"randomized-least-used", kAdaptive | 4},
}};

}  // namespace

std::string_view to_string(SelectionPolicy policy) { return kPolicies[static_cast<std::size_t>(policy)].name; }

std::optional<SelectionPolicy> selection_policy(std::string_view name) {
  for (std::size_t i = 0; i < kPolicies.size(); ++i) {
    if (kPolicies[i].name == name) return static_cast<SelectionPolicy>(i);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> policy_number(SelectionPolicy policy) {
  const std::uint32_t number = kPolicies[static_cast<std::size_t>(policy)].number;
  return number == 0 ? std::nullopt : std::optional(number);
}

std::optional<SelectionPolicy> policy_of_number(std::uint32_t number) {
  for (std::size_t i = 0; number != 0 && i < kPolicies.size(); ++i) {
    if (kPolicies[i].number == number) return static_cast<SelectionPolicy>(i);
  }
  return std::nullopt;
}

bool goes_by_weight(SelectionPolicy policy) {
  return policy == SelectionPolicy::hash || policy == SelectionPolicy::weighted_round_robin ||
         policy == SelectionPolicy::weighted_random;
}

bool goes_by_chance(SelectionPolicy policy) {
  return policy == SelectionPolicy::random || policy == SelectionPolicy::weighted_random ||
         policy == SelectionPolicy::randomized_least_used;
}

bool is_adaptive(SelectionPolicy policy) { return (policy_number(policy).value_or(0) & kAdaptive) != 0; }

}  // namespace asrp::policy
