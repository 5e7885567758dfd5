// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame/daemon.hpp"

#include <csignal>
#include <filesystem>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/notify.hpp"

namespace asrp::frame {

using runtime::log_error;
using runtime::log_info;

Daemon::Daemon(Identity identity)
    : identity_(std::move(identity)),
      started_(runtime::monotonic_now()),
      timer_(
          loop_, [this] { return next_timeout(); }, [this] { on_timer(); }) {}

Daemon::Outcome Daemon::start() {
  loop_.on_signals({SIGHUP, SIGTERM, SIGINT}, [this](int number) {
    if (number == SIGHUP) {
      reload();
    } else {
      stop();
    }
  });
  auto claim = runtime::Claim::take(identity_.program, "start");
  if (!claim) return Failure{claim.error()};
  claim_.emplace(std::move(*claim));
  if (auto done = open_control(); !done) return done;
  if (auto done = open_metrics(); !done) return done;
  if (auto done = open_edges(); !done) return done;
  if (auto done = open_rules(); !done) return done;
  auto done = begin();
  if (!done) rules_->undo_first();
  return done;
}

Daemon::Outcome Daemon::open_control() {
  add_frame_commands();
  add_commands(commands_);
  auto control = runtime::ControlSocket::open(loop_, settings().control, commands_);
  if (!control) return Failure{control.error()};
  control_ = std::move(*control);
  control_->on_subscription([this](bool wanted) {
    on_subscription(wanted ? [this](const std::string& line) { control_->publish(line); } : runtime::EventLog::LineSink());
  });
  return Done{};
}

Daemon::Outcome Daemon::open_metrics() {
  const config::MetricsConfig metrics = settings().metrics;
  if (!metrics.enabled) return Done{};
  auto server = runtime::MetricsServer::open(loop_, metrics.listen, [this] { return metrics_text(); });
  if (!server) return Failure{server.error()};
  metrics_ = std::move(*server);
  log_info("start", "metrics at http://" + metrics.listen.to_string() + "/metrics");
  return Done{};
}

std::string Daemon::metrics_text() const {
  runtime::MetricsPage page(metrics_prefix(identity_.program));
  const double uptime = std::chrono::duration<double>(runtime::monotonic_now() - started_).count();
  add_common_metrics(page, {identity_.version, runtime::wall_clock_seconds() - uptime, rules_->repairs(), is_ready()});
  add_metrics(page);
  return page.text();
}

std::string metrics_prefix(const std::string& program) { return "asrp_" + program.substr(program.find('-') + 1) + "_"; }

void add_common_metrics(runtime::MetricsPage& page, const About& about) {
  page.info("build_info", "the program's version and mode", {{"version", about.version}, {"mode", "PSV"}});
  page.gauge("start_time_seconds", "when the daemon was started, in seconds since 1970", about.started);
  page.gauge("ready", "1 where the daemon asks for traffic, 0 where the operator has drained it", about.ready ? 1 : 0);
  page.counter("rules_repairs", "times that rules were put back", about.rule_repairs);
}

Daemon::Outcome Daemon::open_rules() {
  auto keeper = runtime::RuleKeeper::open(loop_, [this] { on_rules_repaired(); });
  if (!keeper) return Failure{keeper.error()};
  rules_ = std::move(*keeper);
  auto sets = rules();
  if (!sets) return Failure{sets.error()};
  return rules_->replace(std::move(*sets));
}

void Daemon::run() {
  begin_watching();
  if (const auto interval = runtime::watchdog_interval()) loop_.every(*interval, [] { runtime::notify_watchdog(); });
  arm_timer();
  log_info("start", identity_.program + " " + identity_.version + " " + describe());
  runtime::notify_ready(activity());
  loop_.run();
}

void Daemon::watch(int descriptor, std::function<void()> input, Duration pause) {
  watched_.push_back(descriptor);
  const auto then_arm = [this, input = std::move(input)] {
    input();
    arm_timer();
  };
  loop_.watch(descriptor, then_arm, pause);
}

void Daemon::unwatch() {
  for (const int descriptor : std::exchange(watched_, {})) loop_.unwatch(descriptor);
}

void Daemon::stop() {
  runtime::notify_stopping();
  const bool remove = settings().on_stop == config::OnStop::remove;
  if (remove) rules_->remove();
  log_info("stop", end(remove));
  loop_.stop();
}

std::vector<Family> rule_families() {
  if (std::filesystem::exists("/proc/sys/net/ipv6")) return {Family::v4, Family::v6};
  return {Family::v4};
}

}  // namespace asrp::frame
