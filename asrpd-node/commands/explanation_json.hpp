// SPDX-License-Identifier: GPL-2.0-or-later
// An engine's explanation as members of a JSON object.
#pragma once

#include <string>

#include "asrp/engine/explanation.hpp"

namespace asrp::node {

/// "\"step\":\"create\",..."; docs/man/asrpctl.8 tells what they are.
std::string explanation_members(const engine::Explanation& explanation);

}  // namespace asrp::node
