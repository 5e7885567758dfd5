// SPDX-License-Identifier: GPL-2.0-or-later
// iptables rules in chains of our own: installed in one transaction per table and family, outliving the process, repaired when
// another program removed them, never touching what is not ours (decision 1).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::io {

/// A chain of ours, hooked at the head of a built-in chain: e.g. table raw, hook PREROUTING, name ASRP-NODE. Its rules as in
/// iptables-save, without "-A NAME".
struct Chain {
  std::string table;
  std::string hook;  // built-in chain whose first rule jumps here
  std::string name;  // at most 28 characters
  std::vector<std::string> rules;
};

struct RuleSet {
  Family family = Family::v4;
  std::vector<Chain> chains;
};

/// Installs (or replaces, without a gap) all chains and their jumps. All or nothing per table.
Result<Done, IoError> install_rules(const RuleSet& rules);
/// Whether chains, rules and the jumps in first place are as installed.
Result<bool, IoError> rules_intact(const RuleSet& rules);
/// Whether any chain of the set is there, from this process or an earlier one.
Result<bool, IoError> any_chain_present(const RuleSet& rules);
/// The rules of one chain as iptables-save writes them, without "-A NAME"; none if it is not there.
Result<std::vector<std::string>, IoError> chain_rules(Family family, const Chain& chain);
/// Removes every chain whose name is in the set, and the jumps. No error if there is nothing.
Result<Done, IoError> remove_rules(const RuleSet& rules);

/// The classic-BPF rule text for -m bpf --bytecode of a libpcap filter compiled for DLT_RAW, at most 64 instructions.
Result<std::string, IoError> compile_bytecode(const std::string& filter);

/// Notices when some program changes rules (NFNLGRP_NFTABLES): a readable descriptor means "look with rules_intact()".
class RuleMonitor {
 public:
  static Result<std::unique_ptr<RuleMonitor>, IoError> open();
  virtual ~RuleMonitor() = default;
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Reads all pending notices; true if there was any.
  virtual bool drain() = 0;
};

}  // namespace asrp::io
