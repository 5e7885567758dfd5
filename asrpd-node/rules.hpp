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

}  // namespace asrp::node
