// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a system program to its end: no shell, an argument vector, input and output in memory, a time limit.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::io {

struct ProcessOutcome {
  int status = 0;      // exit status; 128 + signal if it was killed
  std::string output;  // what it wrote to its standard output
  std::string errors;  // and to its standard error
};

/// Looks for `arguments[0]` in the system's directories only (the environment may be anybody's), gives it `input`, and waits.
/// Blocks; for start-up, reload and repair, never per packet. Fails if there is no such program or it takes longer than
/// `limit` (it is then killed).
Result<ProcessOutcome, IoError> run_process(const std::vector<std::string>& arguments, const std::string& input,
                                            std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace asrp::io
