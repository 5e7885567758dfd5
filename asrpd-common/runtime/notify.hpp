// SPDX-License-Identifier: GPL-2.0-or-later
// Tells systemd what the daemon is doing (sd_notify); does nothing when systemd did not start it.
#pragma once

#include <optional>
#include <string_view>

#include "asrp/base/time.hpp"

namespace asrp::runtime {

/// READY=1 with a status line, after the start and after a reload.
void notify_ready(std::string_view status);
/// RELOADING=1 with the monotonic time that Type=notify-reload wants.
void notify_reloading();
void notify_stopping();
void notify_watchdog();
/// How often notify_watchdog() is due: half of what the unit allows; none if the unit has no watchdog.
std::optional<Duration> watchdog_interval();

}  // namespace asrp::runtime
