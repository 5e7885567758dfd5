// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace asrp::config {

/// Why a file could not be read, and what to do about it: the daemons are not root when systemd starts them.
std::string why_unreadable(int error_number);

}  // namespace asrp::config
