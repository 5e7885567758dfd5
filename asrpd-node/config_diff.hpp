// SPDX-License-Identifier: GPL-2.0-or-later
// What a new configuration would do to the placement of new sessions. Pure: no file, no engine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "asrpd-node/config.hpp"

namespace asrp::node {

struct PoolMove {
  std::string pool;
  /// Shares of the new sessions whose first server is another one than before: what the change does, and the least that it
  /// could do, which is what the shares of the servers differ by.
  double moved = 0;
  double minimum = 0;
  bool counted = true;  // over all rows; else, with another placement key, expected
};

/// The pools that begin an epoch: those in both configurations whose current epochs differ. `unwanted` is asked now and then,
/// for large pools take seconds; when it says so the list ends.
std::vector<PoolMove> pool_moves(const NodeConfig& now, const NodeConfig& next, const std::function<bool()>& unwanted);

/// The move of one pool; nothing if it was not wanted any more.
std::optional<PoolMove> pool_move(const policy::Epoch& before, const policy::Epoch& after,
                                  const std::function<bool()>& unwanted);

}  // namespace asrp::node
