// SPDX-License-Identifier: GPL-2.0-or-later
// An engine's explanation as members of a JSON object.
#pragma once

#include <string>
#include <vector>

#include "asrp/engine/explanation.hpp"

namespace asrp::node {

/// "\"step\":\"create\",..."; docs/man/asrpctl.8 tells what they are.
std::string explanation_members(const engine::Explanation& explanation);

/// The same of several workers, one explanation of each: "workers" says how many they are. The kernel deals a packet to one of
/// them, and which one nobody knows but the kernel; but what is in flight for this packet is with the one that it comes to.
/// Else it is the first one's answer, and where not all would do the same, "by_worker" has what each would.
std::string joint_explanation_members(const std::vector<engine::Explanation>& of_workers);

}  // namespace asrp::node
