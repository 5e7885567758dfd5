// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/notify.hpp"

#include <systemd/sd-daemon.h>

#include <chrono>
#include <string>

#include "runtime/clock.hpp"

namespace asrp::runtime {

void notify_ready(std::string_view status) { sd_notify(0, ("READY=1\nSTATUS=" + std::string(status)).c_str()); }

void notify_reloading() {
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(monotonic_now().time_since_epoch()).count();
  sd_notify(0, ("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(now)).c_str());
}

void notify_stopping() { sd_notify(0, "STOPPING=1"); }

void notify_watchdog() { sd_notify(0, "WATCHDOG=1"); }

std::optional<Duration> watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (sd_watchdog_enabled(0, &microseconds) <= 0 || microseconds == 0) return std::nullopt;
  return std::chrono::microseconds(microseconds / 2);
}

}  // namespace asrp::runtime
