// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemons may do: CAP_NET_ADMIN and CAP_NET_RAW, and nothing else once they run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace asrp::runtime {

/// Empty if the process has both capabilities; else one message that names what is missing and what to do.
std::optional<std::string> missing_capabilities(const std::string& program);

/// The message for a set of missing capabilities (a part of the above that needs no process without them to test).
std::string capability_advice(const std::string& program, bool lacks_net_admin, bool lacks_net_raw);

/// Keeps CAP_NET_ADMIN and CAP_NET_RAW, also for the iptables programs that the daemon runs, and gives up all others for good.
/// Returns why that failed.
std::optional<std::string> drop_other_capabilities();

/// Adds a group to those that the process is in, if it may; what needs it tells if that failed.
void join_group(gid_t group);

/// While it lives, root's right to pass over the permissions of files is not in effect: what a check finds out is then what
/// holds once all but the two capabilities are given up.
class WithoutOverride {
 public:
  WithoutOverride();
  ~WithoutOverride();
  WithoutOverride(const WithoutOverride&) = delete;
  WithoutOverride& operator=(const WithoutOverride&) = delete;

 private:
  std::uint32_t effective_ = 0;  // as it was, of the first 32 capabilities
};

}  // namespace asrp::runtime
