// SPDX-License-Identifier: GPL-2.0-or-later
// What a node remembers from one run to the next: the former pools (decision 11), in one JSON file under state_dir.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

/// When a node saw an epoch come into force, in milliseconds since 1970. It was in force then, also where the node saw it late:
/// so of what several nodes say about one epoch the latest counts, and epochs in the order of these times are in the order in
/// which they were in force.
using BeginTime = std::int64_t;

struct PastEpoch {
  policy::Epoch epoch;
  BeginTime began = 0;
  friend bool operator==(const PastEpoch&, const PastEpoch&) = default;
};

struct PoolState {
  std::string pool;
  policy::Epoch current;
  BeginTime began = 0;          // of the current one
  std::vector<PastEpoch> past;  // newest first
  friend bool operator==(const PoolState&, const PoolState&) = default;
};
using State = std::vector<PoolState>;

/// Epochs kept for a pool; the oldest go first. Far more than one query list can ask.
inline constexpr std::size_t kMaxPastEpochs = 64;
/// Servers in all past epochs of all pools together; the oldest epochs go first. So the file stays below what is read of one,
/// 16 MiB: a pool of ten thousand servers keeps twelve.
inline constexpr std::size_t kMaxPastMembers = 120'000;

/// The state that follows from `before` when `config` comes into force: where a pool's epoch has changed, the former one
/// becomes the newest past epoch. An epoch is kept as long as one of its servers is configured.
State next_state(const State& before, const NodeConfig& config, BeginTime now);
/// What two nodes know together; whoever is told by whom and in what order, in the end all know the same. What `told` has for
/// the present epoch is a past one here, unless it is this node's too.
State merged_state(State state, const State& told);
/// What to_options() wants.
std::vector<PoolHistory> history_of(const State& state);

std::string state_json(const State& state);
/// None if the text is not what state_json() writes; then `problems`, where given, has all that is wrong with it.
std::optional<State> parse_state(const std::string& text, std::vector<std::string>* problems = nullptr);

/// Reads DIRECTORY/epochs.json; empty if there is none. A file that cannot be understood is put aside under another name and
/// reported in `trouble`.
State load_state(const std::string& directory, std::string& trouble);
/// What another node knows: its epochs.json, put into DIRECTORY as epochs.given.json. Nothing if there is none; trouble as
/// above.
std::optional<State> load_given_state(const std::string& directory, std::string& trouble);
/// It has been merged and saved.
void remove_given_state(const std::string& directory);
/// Replaces the file, which holds placement keys, mode 0600.
Result<Done, io::IoError> save_state(const std::string& directory, const State& state);

}  // namespace asrp::node
