// SPDX-License-Identifier: GPL-2.0-or-later
// The running node: edges, engine, driver, rules, and what start, reload and stop mean.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

class Daemon {
 public:
  /// Opens everything and puts the rules in: first the queues, then the rules, so that no packet waits for a queue that cannot
  /// be had. On failure nothing of ours is left behind.
  static Result<std::unique_ptr<Daemon>, io::IoError> start(NodeConfig config, const std::string& config_file);
  virtual ~Daemon() = default;
  /// Runs until SIGTERM or SIGINT.
  virtual void run() = 0;
};

/// --remove-rules: takes rules away and puts sysctls back. Refused while a node runs in this network namespace. Without a
/// `config` the rules tell the state_dir.
Result<Done, io::IoError> remove_everything(const std::optional<NodeConfig>& config);

}  // namespace asrp::node
