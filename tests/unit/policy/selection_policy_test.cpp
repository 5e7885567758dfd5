// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/selection_policy.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace asrp::policy;

namespace {

using enum SelectionPolicy;

}  // namespace

TEST_CASE("the numbers are those of RFC 5356 7.1") {
  static constexpr struct {
    SelectionPolicy policy;
    std::uint32_t number;
  } kRows[] = {{round_robin, 0x00000001},
               {weighted_round_robin, 0x00000002},
               {random, 0x00000003},
               {weighted_random, 0x00000004},
               {priority, 0x00000005},
               {least_used, 0x40000001},
               {least_used_degradation, 0x40000002},
               {priority_least_used, 0x40000003},
               {randomized_least_used, 0x40000004}};
  for (const auto& row : kRows) {
    CAPTURE(row.number);
    CHECK(policy_number(row.policy) == row.number);
    CHECK(policy_of_number(row.number) == row.policy);
    CHECK(is_adaptive(row.policy) == (row.number > 0x40000000));
  }
  CHECK_FALSE(policy_number(hash).has_value());
  CHECK_FALSE(is_adaptive(hash));
  for (const std::uint32_t number : {0u, 6u, 0x3fffffffu, 0x40000000u, 0x40000005u, 0x80000001u, 0xffffffffu}) {
    CAPTURE(number);
    CHECK_FALSE(policy_of_number(number).has_value());
  }
}

TEST_CASE("each policy has a name of its own, and is found by it only") {
  std::set<std::string_view> names;
  for (std::uint8_t i = 0; i < kSelectionPolicyCount; ++i) {
    const auto policy = static_cast<SelectionPolicy>(i);
    names.insert(to_string(policy));
    CHECK(selection_policy(to_string(policy)) == policy);
  }
  CHECK(names.size() == kSelectionPolicyCount);
  CHECK(to_string(hash) == "hash");
  CHECK(to_string(least_used_degradation) == "least-used-degradation");
  CHECK_FALSE(selection_policy("").has_value());
  CHECK_FALSE(selection_policy("Hash").has_value());
  CHECK_FALSE(selection_policy("round_robin").has_value());
}
