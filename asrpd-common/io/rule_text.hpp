// SPDX-License-Identifier: GPL-2.0-or-later
// Pure text: what iptables-save says, and what iptables-restore is to be told. No process, no state; tested without root.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/rule_set.hpp"

namespace asrp::io {

/// One table as iptables-save prints it: rules by chain, in order, each without its "-A CHAIN ".
struct SavedTable {
  std::map<std::string, std::vector<std::string>, std::less<>> chains;  // declared chains, also empty ones
};
SavedTable parse_saved(std::string_view text);

/// Whether the jumps to `chains` (one table's) stand where they should: in each hook at the head, in the set's order, once
/// each. Jumps to chains of a sibling program (same name up to the first '-') may stand before or between them, or two programs
/// would take the first place from each other for ever.
bool jumps_in_place(const SavedTable& table, const std::vector<Chain>& chains);

/// Input of iptables-restore --noflush that replaces `chains` (one table's) in one transaction.
std::string replace_text(const SavedTable& now, const std::vector<Chain>& chains);
/// The same for their removal, with every jump to them from anywhere; empty if there is nothing to remove.
std::string remove_text(const SavedTable& now, const std::string& table, const std::vector<Chain>& chains);

/// An error of iptables-restore in words: its message, the rule that it means, and what is likely missing.
IoError explain_failure(const std::string& program, const std::string& input, const std::string& errors);

}  // namespace asrp::io
