// SPDX-License-Identifier: GPL-2.0-or-later
// Whose an outside address and port are, from the configuration alone: nobody needs a log. One JSON object for each answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "asrpd-node/nat_config.hpp"

namespace asrp::node {

/// Members of the answer to "who has ADDRESS PORT": "client" is null if nobody has. Where there are former ranges, "former" has
/// whose it was, newest first, each with "began" and "ended" in milliseconds since 1970.
std::string lookup_members(const NatConfig& nat, const Endpoint& outside);
/// An object for each client that shares outside addresses, and one for each network that has one for each client, until `put`
/// says false. Behind them the same for former ranges, with "began" and "ended".
void put_ranges(const NatConfig& nat, const std::function<bool(std::string_view line)>& put);

}  // namespace asrp::node
