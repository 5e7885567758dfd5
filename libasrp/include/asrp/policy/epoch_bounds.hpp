// SPDX-License-Identifier: BSD-3-Clause
// How much placement can number. Whoever reads an epoch from outside, a configuration or a file, refuses more: a Ranking takes
// it for a fault of the program.
#pragma once

#include <cstddef>

namespace asrp::policy {

/// Members of one epoch: their numbers have 16 bits, of which the cached ranks need two for themselves.
inline constexpr std::size_t kMaxEpochMembers = 65533;

}  // namespace asrp::policy
