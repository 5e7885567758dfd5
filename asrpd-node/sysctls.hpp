// SPDX-License-Identifier: GPL-2.0-or-later
// Conntrack timeouts of this network namespace (decision 4): set at the start, put back by --remove-rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "io/error.hpp"

namespace asrp::node {

struct Sysctl {
  std::string name;
  std::int64_t value = 0;
  friend bool operator==(const Sysctl&, const Sysctl&) = default;
};

/// The values that the configuration asks for.
std::vector<Sysctl> wanted_sysctls(const NodeConfig& config);

/// Sets them; what was there before is first saved in DIRECTORY/sysctls.json, unless it is there from an earlier start. Logs
/// each change.
Result<Done, io::IoError> apply_sysctls(const NodeConfig& config);
/// Puts back what was saved, and forgets it. No error if nothing was.
Result<Done, io::IoError> restore_sysctls(const std::string& directory);

/// What keeps packets from being forwarded here, each as a sentence for the log: forwarding that is off.
std::vector<std::string> forwarding_problems(const NodeConfig& config);

}  // namespace asrp::node
