// SPDX-License-Identifier: GPL-2.0-or-later
// Conntrack timeouts of this network namespace (decision 4): set at the start, put back by --remove-rules.
#pragma once

#include <cstdint>
#include <optional>
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

/// Sets them; what was there before is first saved in state_dir/sysctls.json. What is not as an earlier start had set it was
/// somebody's choice meanwhile, and is saved in the place of what was before. Logs each change.
Result<Done, io::IoError> apply_sysctls(const NodeConfig& config);
/// Puts back what was saved for this network namespace, where it is still as we had set it, and forgets it. No error if nothing
/// was.
Result<Done, io::IoError> restore_sysctls(const std::string& directory);

/// Why IPv6 services cannot be served in this network namespace; none if they can.
std::optional<io::IoError> ipv6_trouble();
/// What keeps packets from being forwarded here, each as a sentence for the log: forwarding that is off.
std::vector<std::string> forwarding_problems(const NodeConfig& config);

}  // namespace asrp::node
