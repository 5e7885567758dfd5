// SPDX-License-Identifier: BSD-3-Clause
// A service's servers now and in the past, and from them: where a new session goes, and whom to ask for an old one
// (draft 3.5.3, decision 11). A pure function of the flow's client-side tuple, the configuration and the placement keys.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "asrp/base/limits.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/policy/placement.hpp"

namespace asrp::policy {

/// A configured server as placement sees it; known by its index in the list given to Pool.
struct PoolServer {
  std::string id;
  std::uint32_t weight = 1;
  bool ranked = true;   // takes new sessions: `active`
  bool queried = true;  // may be asked: everything configured that is not `disabled`
  std::uint32_t priority = 0;
};

/// Whom to ask, in order: [0, first_round) at once; the rest if all of these answered RX.
struct QueryList {
  /// Why a server is in it: its best claim.
  struct Claim {
    std::uint8_t epoch = 0;  // 0: today's, 1 ...: past ones, newest first
    bool coming = false;     // of the epoch that begins when those that are joining are active
    std::uint8_t rank = 0;   // in that epoch, from 0
  };
  std::array<std::uint16_t, 2 * kMaxCandidates> servers;
  std::array<Claim, 2 * kMaxCandidates> claims;
  std::size_t first_round = 0;
  std::size_t count = 0;
  bool cut = false;  // the epochs named more than kMaxCandidates servers
};

class Pool {
 public:
  /// `past`: newest first. `ranks`: servers of each epoch in the query list.
  Pool(std::span<const PoolServer> servers, const HashKey& key, std::span<const Epoch> past, std::size_t ranks);

  /// Epochs in the order: current, the coming one if servers are joining (another node may rank them already), past ones.
  /// First ranks of each, without duplicates; then the next ranks of the current epoch.
  [[nodiscard]] QueryList query(const Tuple& client_side) const;
  /// Servers of the current epoch for a new session of this flow, best first; returns how many.
  std::size_t ranks(const Tuple& client_side, std::span<std::uint16_t> out) const;
  /// The best rank of the current epoch among the servers whose flag isn't 0; nothing if there is none. `takes_part`: a flag
  /// for each server.
  [[nodiscard]] std::optional<std::uint16_t> best_of(const Tuple& client_side, std::span<const std::uint8_t> takes_part) const;
  /// Servers of each epoch in the list.
  [[nodiscard]] std::size_t depth() const { return depth_; }
  /// Whether the flow's first server differs between the current epoch and the newest past one.
  [[nodiscard]] bool owner_changed(const Tuple& client_side) const;
  /// The flow's first server in the newest past epoch, if it is another one than now and still to be asked.
  [[nodiscard]] std::optional<std::uint16_t> former_owner(const Tuple& client_side) const;
  /// Whether two pools place new sessions alike.
  [[nodiscard]] bool same_epoch(const Pool& other) const { return current_ == other.current_; }
  [[nodiscard]] bool has_past() const { return epochs_.size() > first_past_; }

 private:
  struct Ranked {
    Ranking ranking;
    std::vector<std::int32_t> server;  // of each member; -1: not configured any more, or not to be asked
  };
  void add_epoch(const Epoch& epoch, std::size_t kept, std::span<const std::uint16_t> by_id,
                 std::span<const PoolServer> servers);
  void append(QueryList& list, std::size_t epoch, std::span<const std::uint16_t> members) const;
  /// The member that `epoch` ranks first for a flow; nothing if it has none.
  static std::optional<std::uint16_t> first(const Ranked& epoch, const Tuple& client_side);

  Epoch current_;
  std::vector<Ranked> epochs_;
  std::size_t first_past_ = 1;
  std::size_t depth_;
  mutable std::vector<std::uint8_t> flags_;  // of the current epoch's members, while best_of() works
};

}  // namespace asrp::policy
