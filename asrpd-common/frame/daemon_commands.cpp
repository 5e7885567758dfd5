// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of the control socket that both daemons have.
#include <cstdio>

#include "frame/daemon.hpp"
#include "runtime/clock.hpp"

namespace asrp::frame {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;

namespace {

void set_log_level(const ControlRequest& request, const ControlAnswer& answer) {
  const auto name = request.text("level");
  if (name) {
    const auto level = runtime::parse_log_level(*name);
    if (!level) return answer.refuse("log levels are debug, info, warning and error", "\"kind\":\"argument\"");
    runtime::set_log_level(*level);
    runtime::log_info("log", "level " + *name + ", until the next reload or start");
  }
  answer.give("\"level\":" + runtime::json_quoted(to_string(runtime::log_level())));
}

}  // namespace

void Daemon::add_frame_commands() {
  commands_.add({"commands", {}, [this](const ControlRequest&, const ControlAnswer& answer) {
                   std::string names;
                   for (const std::string& name : commands_.names())
                     names += (names.empty() ? "" : ",") + runtime::json_quoted(name);
                   answer.give("\"commands\":[" + names + "]");
                 }});
  commands_.add(
      {"counters", {}, [this](const ControlRequest&, const ControlAnswer& answer) { answer.give(counters_members()); }});
  commands_.add({"events", {}, [](const ControlRequest&, const ControlAnswer& answer) { answer.subscribe(); }});
  commands_.add({"log", {{"level", ControlArgument::Kind::text}}, set_log_level});
  commands_.add({"reload",
                 {{"dry_run", ControlArgument::Kind::flag}},
                 [this](const ControlRequest& request, const ControlAnswer& answer) { on_reload_command(request, answer); }});
  commands_.add({"status", {}, [this](const ControlRequest&, const ControlAnswer& answer) { answer.give(whole_status()); }});
}

std::string Daemon::counters_members() const {
  auto lines = counter_lines();
  lines.push_back({"rules.repairs", rules_->repairs(), "times that rules were put back"});
  return runtime::counters_members(lines);
}

std::string Daemon::whole_status() const {
  char uptime[32];
  std::snprintf(uptime, sizeof uptime, "%.1f", std::chrono::duration<double>(runtime::monotonic_now() - started_).count());
  return "\"program\":\"" + identity_.program + "\",\"version\":\"" + identity_.version +
         "\",\"mode\":\"PSV\",\"uptime_s\":" + uptime + ",\"ready\":" + (is_ready() ? "true" : "false") + "," +
         status_members();
}

}  // namespace asrp::frame
