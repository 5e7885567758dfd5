// SPDX-License-Identifier: GPL-2.0-or-later
// Values under /proc/sys of this network namespace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace asrp::runtime {

/// Reads a number, e.g. "net.ipv4.ip_forward"; none if it does not exist here (a module not loaded, IPv6 off).
std::optional<std::int64_t> read_sysctl(const std::string& name);

/// Writes a number; returns why it failed ("/proc/sys/net/...: Read-only file system").
std::optional<std::string> write_sysctl(const std::string& name, std::int64_t value);

}  // namespace asrp::runtime
