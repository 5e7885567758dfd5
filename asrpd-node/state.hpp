// SPDX-License-Identifier: GPL-2.0-or-later
// What a node remembers from one run to the next: the former pools (decision 11), in one JSON file under state_dir.
#pragma once

#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

struct PoolState {
  std::string pool;
  policy::Epoch current;
  std::vector<policy::Epoch> past;  // newest first
  friend bool operator==(const PoolState&, const PoolState&) = default;
};
using State = std::vector<PoolState>;

/// Epochs kept for a pool; the oldest go first. Far more than one query list can ask.
inline constexpr std::size_t kMaxPastEpochs = 64;

/// The state that follows from `before` when `config` comes into force: where a pool's epoch has changed, the former one
/// becomes the newest past epoch. An epoch is kept as long as one of its servers is configured.
State next_state(const State& before, const NodeConfig& config);
/// What to_options() wants.
std::vector<PoolHistory> history_of(const State& state);

std::string state_json(const State& state);
/// None if the text is not what state_json() writes.
std::optional<State> parse_state(const std::string& text);

/// Reads DIRECTORY/epochs.json; empty if there is none. A file that cannot be understood is put aside under another name and
/// reported in `trouble`.
State load_state(const std::string& directory, std::string& trouble);
/// Replaces the file, which holds placement keys, mode 0600.
Result<Done, io::IoError> save_state(const std::string& directory, const State& state);

}  // namespace asrp::node
