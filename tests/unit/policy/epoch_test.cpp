// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/epoch.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace asrp::policy;

TEST_CASE("an epoch has the weights of a policy that goes by them, and priorities only of the policy of that name") {
  const std::set<SelectionPolicy> weighted{SelectionPolicy::hash, SelectionPolicy::weighted_round_robin,
                                           SelectionPolicy::weighted_random};
  for (std::uint8_t number = 0; number < kSelectionPolicyCount; ++number) {
    const auto policy = static_cast<SelectionPolicy>(number);
    CAPTURE(to_string(policy));
    const bool by_weight = weighted.count(policy) != 0;
    CHECK(goes_by_weight(policy) == by_weight);
    const std::uint32_t priority = policy == SelectionPolicy::priority ? 9 : 0;
    CHECK(epoch_member(policy, "a", 5, 9) == EpochMember{"a", by_weight ? 5u : 1u, priority});
    CHECK(epoch_member(policy, "a", 1, 0) == EpochMember{"a", 1, 0});
    CHECK(epoch_member(policy, "a", 0, 9) == EpochMember{"a", 0, priority});  // takes no part, by any policy
  }
}
