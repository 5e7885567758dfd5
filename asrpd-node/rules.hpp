// SPDX-License-Identifier: GPL-2.0-or-later
// The node's iptables rules as a pure function of its configuration: what reaches which queue, and what may never leave.
#pragma once

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"
#include "io/rule_set.hpp"

namespace asrp::node {

/// The rules of one family; a set without rules where no service has the family. Reads nothing and changes nothing.
Result<io::RuleSet, io::IoError> node_rules(const NodeConfig& config, Family family);

/// The same chains without rules: what to remove.
io::RuleSet node_chains(Family family);

/// The state_dir of the daemon whose rules of this family are in place, also if it runs no more: they carry it. None if there
/// are no rules.
Result<std::optional<std::string>, io::IoError> state_dir_in_rules(Family family);
/// Octets that a state_dir may have, written as the rules carry it.
inline constexpr std::size_t kLongestStateDir = 240;
std::string state_dir_in_comment(const std::string& state_dir);

}  // namespace asrp::node
