// SPDX-License-Identifier: GPL-2.0-or-later
// What the rules of both modes have in common. Used by rules.cpp and rules_nat.cpp.
#pragma once

#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

/// The rules of each chain of node_chains() but the last.
struct RuleTexts {
  std::vector<std::string> raw_prerouting, raw_output, prerouting, forward, output, postrouting;
};

/// What leads to the queues of the three taps.
struct QueueTargets {
  explicit QueueTargets(const config::QueueConfig& queue);
  std::string first, stray, known;
};

/// The beginning of all chains. `translated` is what conntrack calls an entry of ours: "DNAT" or "SNAT".
RuleTexts first_rules(const NodeConfig& config, Family family, const std::string& translated);
/// The match of injected packets of flows.
std::string flow_packets(const MarksConfig& marks);
/// Matches of packets of `protocol` that carry a message, or seem to.
Result<std::vector<std::string>, io::IoError> message_matches(const NodeConfig& config, Family family, Protocol protocol);
/// A match of ICMP errors about an unknown session's packet whose source (else destination) was in `network`.
Result<std::string, io::IoError> icmp_error_match(const Prefix& network, bool source);

/// ACT mode: all rules.
Result<RuleTexts, io::IoError> nat_rules(const NodeConfig& config, Family family);

}  // namespace asrp::node
