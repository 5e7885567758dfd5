// SPDX-License-Identifier: BSD-3-Clause
// The names of the ways to choose a server: the nine policies of RFC 5356 and this implementation's own `hash`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace asrp::policy {

enum class SelectionPolicy : std::uint8_t {
  hash,                    // the first of the candidates that is usable: as the placement ranks them; not of the RFC
  round_robin,             // RFC 5356 4.1
  weighted_round_robin,    // 4.2
  random,                  // 4.3
  weighted_random,         // 4.4
  priority,                // 4.5
  least_used,              // 5.1
  least_used_degradation,  // 5.2
  priority_least_used,     // 5.3
  randomized_least_used,   // 5.4
};
inline constexpr std::uint8_t kSelectionPolicyCount = 10;

/// As in configuration files: "round-robin", "least-used-degradation", ...
std::string_view to_string(SelectionPolicy policy);
/// The policy of that name, or nothing.
std::optional<SelectionPolicy> selection_policy(std::string_view name);

/// The policy's number in the registry of RFC 5356 7.1; nothing for `hash`.
std::optional<std::uint32_t> policy_number(SelectionPolicy policy);
/// The policy of that number; nothing for reserved, unassigned and private ones.
std::optional<SelectionPolicy> policy_of_number(std::uint32_t number);

/// Whether the choice depends on the members' weights, beyond that 0 takes no part.
bool goes_by_weight(SelectionPolicy policy);
/// Whether chance has a say in the choice.
bool goes_by_chance(SelectionPolicy policy);
/// Whether the choice depends on the load that the members report.
bool is_adaptive(SelectionPolicy policy);

}  // namespace asrp::policy
