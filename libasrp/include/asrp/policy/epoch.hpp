// SPDX-License-Identifier: BSD-3-Clause
// An epoch: the whole set of (server id, weight, priority, key) of a pool between two changes (decision 11).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asrp/base/siphash.hpp"
#include "asrp/policy/selection_policy.hpp"

namespace asrp::policy {

struct EpochMember {
  std::string id;
  std::uint32_t weight = 1;    // 0 takes no part
  std::uint32_t priority = 0;  // the highest are ranked first
  friend bool operator==(const EpochMember&, const EpochMember&) = default;
};

struct Epoch {
  std::vector<EpochMember> members;  // a set: their order means nothing
  HashKey key{};                     // placement key of that time
  friend bool operator==(const Epoch&, const Epoch&) = default;
};

/// A server's part in an epoch of a pool with this policy. Placement goes by what the policy goes by and by nothing else:
/// weights would make a policy unequal that treats all alike, and without priorities the highest would rarely be among a flow's
/// first ranks. So a change of the policy can begin an epoch.
EpochMember epoch_member(SelectionPolicy policy, std::string id, std::uint32_t weight, std::uint32_t priority);

/// Puts the members in the order of their ids: then equal epochs are equal as values.
void sort_members(Epoch& epoch);

}  // namespace asrp::policy
