// SPDX-License-Identifier: GPL-2.0-or-later
// What the daemons may do: CAP_NET_ADMIN and CAP_NET_RAW, and nothing else once they run.
#pragma once

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

}  // namespace asrp::runtime
