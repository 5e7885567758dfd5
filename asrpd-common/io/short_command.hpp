// SPDX-License-Identifier: GPL-2.0-or-later
// Runs a command of the operator that has something short to say, in a thread that may wait for it. Nothing that it does makes
// that longer than the limit, or large: it has a process group of its own, which is killed in the end.
#pragma once

#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrp/base/time.hpp"
#include "io/error.hpp"

namespace asrp::io {

inline constexpr std::size_t kMostCommandOutput = 4096;  // octets

struct CommandOutcome {
  int status = 0;      // exit status; 128 + signal if it was killed by one
  std::string output;  // what it wrote to its standard output
};

/// `command`: a program's path and its arguments. ETIMEDOUT, EMSGSIZE: it took too long or said too much, and was killed with
/// all that it had started in its process group.
Result<CommandOutcome, IoError> run_short_command(const std::vector<std::string>& command, Duration limit);

}  // namespace asrp::io
