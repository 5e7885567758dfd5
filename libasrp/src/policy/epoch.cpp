// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/epoch.hpp"

#include <algorithm>
#include <utility>

namespace asrp::policy {

EpochMember epoch_member(SelectionPolicy policy, std::string id, std::uint32_t weight, std::uint32_t priority) {
  return {std::move(id), goes_by_weight(policy) ? weight : std::min<std::uint32_t>(weight, 1),
          policy == SelectionPolicy::priority ? priority : 0};
}

void sort_members(Epoch& epoch) {
  std::sort(epoch.members.begin(), epoch.members.end(), [](const EpochMember& a, const EpochMember& b) { return a.id < b.id; });
}

}  // namespace asrp::policy
