// SPDX-License-Identifier: BSD-3-Clause
// The commands of asrpctl. To add one: a file of its own here with a function that declares it, its line below and in
// commands.cpp; its counterpart is a file in asrpd-node/commands or asrpd-holder/commands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "console.hpp"
#include "table.hpp"

namespace asrp::ctl {

struct Command {
  std::string name;
  std::string summary;  // one line of --help
  std::string example;  // for --help of the command
  /// Adds options and arguments; what they are stored in, the functions share.
  std::function<void(CLI::App&)> options;
  /// Returns the exit status.
  std::function<int(Console&)> run;
  /// Whether --watch goes with it: not with what changes the daemon, nor with what has no end anyway.
  bool watchable = true;
};

/// All, in the order of --help.
std::vector<Command> all_commands();

Command status_command();
Command services_command();
Command epochs_command();
Command explain_command();
Command counters_command();
Command events_command();
Command log_command();
Command backends_command();
Command sessions_command();
Command backups_command();
Command queries_command();
Command nat_command();
Command reload_command();
Command drain_command();
Command undrain_command();
Command drains_command();
Command ready_command();

}  // namespace asrp::ctl
