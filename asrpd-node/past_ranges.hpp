// SPDX-License-Identifier: GPL-2.0-or-later
// ACT mode: the port ranges of former configurations. Their sessions go on, and are recovered here when another gateway has
// lost them. In one JSON file under state_dir, as former pools are.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrpd-node/nat_config.hpp"
#include "io/error.hpp"

namespace asrp::node {

struct RangesState {
  std::optional<FormerRanges> current;  // `ended` has no meaning
  std::vector<FormerRanges> past;       // newest first
};

/// Former ranges that are kept; the oldest go first.
inline constexpr std::size_t kMaxPastRanges = 8;

/// The state that follows from `before` when `nat` comes into force at `now`, in milliseconds since 1970. Ranges that stay the
/// same, whatever becomes of slices, names and the order of tables, are no change.
RangesState next_ranges(const RangesState& before, const NatConfig& nat, std::int64_t now);
/// Gives the configuration the former ranges.
void set_former(NatConfig& nat, const RangesState& state);

std::string ranges_json(const RangesState& state);
/// Nothing if the text is not what ranges_json() writes.
std::optional<RangesState> parse_ranges(const std::string& text);

/// What DIRECTORY/ranges.json has; empty if that cannot be read. Changes nothing.
RangesState read_ranges(const std::string& directory);
/// Reads DIRECTORY/ranges.json; empty if there is none. A file that cannot be understood is put aside under another name and
/// reported in `trouble`.
RangesState load_ranges(const std::string& directory, std::string& trouble);
Result<Done, io::IoError> save_ranges(const std::string& directory, const RangesState& state);

/// Looks at the sessions of a gateway for what former ranges they need. Made of a configuration that has them.
class FormerSessions {
 public:
  explicit FormerSessions(const engine::NatOptions& nat);
  /// Takes note of an entry.
  void see(const engine::FlowEntry& entry);
  /// Whether a session of the client can go on: it is TCP, or has a client of today. A talkative client of a network that is
  /// none any more would keep its UDP entry for ever.
  [[nodiscard]] bool is_orphan(const engine::FlowEntry& entry) const;
  /// Of former ranges those that no session seen needs and that ended at `until` or before, as indexes.
  [[nodiscard]] std::vector<std::size_t> unused(const std::vector<FormerRanges>& former, std::int64_t until) const;

 private:
  /// Whose the entry is, today's ranges aside; the number of ranges if nobody's.
  [[nodiscard]] std::size_t owner(const engine::FlowEntry& entry) const;

  policy::PortRanges ranges_;
  std::vector<policy::PortRanges> past_;
  std::vector<bool> used_;
};

}  // namespace asrp::node
