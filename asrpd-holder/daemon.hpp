// SPDX-License-Identifier: GPL-2.0-or-later
// The running holder: edges, store, engine, driver, rules, and what start, reload and stop mean.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "asrp/base/result.hpp"
#include "asrpd-holder/config.hpp"
#include "io/error.hpp"

namespace asrp::holder {

class Daemon {
 public:
  /// Opens everything, puts the rules in and loads the store. On failure nothing of ours is left behind.
  static Result<std::unique_ptr<Daemon>, io::IoError> start(HolderConfig config, const std::string& config_file);
  virtual ~Daemon() = default;
  /// Runs until SIGTERM or SIGINT.
  virtual void run() = 0;
};

/// --remove-rules. Refused while a holder runs in this network namespace.
Result<Done, io::IoError> remove_everything();

}  // namespace asrp::holder
