// SPDX-License-Identifier: GPL-2.0-or-later
// The command line that both daemons have, and what its options do. Exit status: 0 well, 1 failed, 2 wrong usage.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "config/value.hpp"
#include "frame/daemon.hpp"
#include "io/error.hpp"
#include "runtime/log.hpp"

namespace asrp::frame {

/// What a program answers from its configuration alone, without a running daemon.
struct Question {
  std::string option;  // "--nat-ranges"
  std::string value;   // name of its value; empty: it has none
  std::string help;
  std::function<int(const std::string& value)> answer;  // returns the exit status
};

struct Program {
  std::string name;            // "asrpd-node"
  std::string version;         // "1.2.3"
  std::string summary;         // one line for --help
  std::string default_config;  // path
  std::string print_help;      // what --print-config does
  std::string remove_help;     // what --remove-rules does

  /// Reads the configuration and keeps it for what follows; false if it has an error.
  std::function<bool(const std::string& file, config::Problems& problems)> load;
  std::function<std::string()> print;
  std::function<runtime::LogOptions()> log;
  std::function<runtime::ControlPlace()> control;
  std::function<std::unique_ptr<Daemon>(Identity identity)> make;
  /// With the configuration if one was loaded.
  std::function<Result<Done, io::IoError>()> remove_rules;
  std::vector<Question> questions = {};  // asked when the configuration is loaded
};

/// What main() returns.
int run_program(const Program& program, int argc, char** argv);

}  // namespace asrp::frame
