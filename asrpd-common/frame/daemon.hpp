// SPDX-License-Identifier: GPL-2.0-or-later
// What both daemons have in common: the order of a start, signals, rules, the control socket, the engine's timer, reload and
// stop. A daemon fills in what is its own; everything here runs in the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/result.hpp"
#include "config/common.hpp"
#include "frame/engine_timer.hpp"
#include "io/error.hpp"
#include "io/rule_set.hpp"
#include "runtime/claim.hpp"
#include "runtime/control_command.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/event_log.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/line_thread.hpp"
#include "runtime/metrics_page.hpp"
#include "runtime/metrics_server.hpp"
#include "runtime/rule_keeper.hpp"

namespace asrp::frame {

struct Identity {
  std::string program;      // "asrpd-node"
  std::string version;      // "1.2.3"
  std::string config_file;  // read again at a reload
};

class Daemon {
 public:
  using Outcome = Result<Done, io::IoError>;
  using RuleSets = Result<std::vector<io::RuleSet>, io::IoError>;

  /// Configurations as --print-config prints them.
  struct Texts {
    std::string now, next, next_start;
  };

  virtual ~Daemon() = default;

  /// Opens everything and puts the rules in: first the queues, then the rules, so that no packet waits for a queue that cannot
  /// be had. On failure nothing of ours is left behind. A signal that comes during it is answered after it.
  Outcome start();
  /// Runs until SIGTERM or SIGINT.
  void run();

 protected:
  /// What the frame has to know of the configuration in force.
  struct Settings {
    runtime::ControlPlace control;
    runtime::LogOptions log;
    config::OnStop on_stop = config::OnStop::keep;
    config::MetricsConfig metrics;
  };
  /// A configuration that was read and is good.
  struct Next {
    RuleSets rules;
    runtime::LogOptions log;
    /// Brings it into force; its rules are in place. On failure all stays as it was.
    std::function<Outcome()> adopt;
    /// Settings that have changed and take effect at the next start: "[queue]".
    std::vector<std::string> waiting;
    /// Of what is in force, of what would be now, and of what would be after a start.
    std::function<Texts()> texts;
    /// Further lines of a dry run, JSON objects. Runs in a thread of its own and may use only what it owns.
    std::function<void(runtime::LineSink&)> consequences;
  };

  explicit Daemon(Identity identity);

  // --- what a daemon fills in, in the order in which a start asks for it ------------------------------------------------

  [[nodiscard]] virtual Settings settings() const = 0;
  /// Queues, sockets, stores: what must be had before the rules lead packets here.
  virtual Outcome open_edges() = 0;
  /// The rules of the configuration in force.
  virtual RuleSets rules() = 0;
  /// Makes the engine; the rules are in place.
  virtual Outcome begin() = 0;
  /// Watches descriptors, and begins what is done now and then.
  virtual void begin_watching() = 0;
  /// What it does, for the log: "serves 3 services".
  [[nodiscard]] virtual std::string describe() const = 0;
  /// A word for the service manager: "serving".
  [[nodiscard]] virtual std::string activity() const = 0;

  // --- while it runs ----------------------------------------------------------------------------------------------------

  [[nodiscard]] virtual std::optional<TimePoint> next_timeout() const = 0;
  virtual void on_timer() = 0;
  virtual void on_rules_repaired() = 0;
  /// Reads the file; none if it has an error. Changes nothing.
  virtual std::optional<Next> read_next(const std::string& file, config::Problems& problems) = 0;
  [[nodiscard]] virtual std::vector<runtime::CounterLine> counter_lines() const = 0;
  /// Whether it asks for traffic; false where the operator has drained it.
  [[nodiscard]] virtual bool is_ready() const { return true; }
  /// Members of the answer to `status` besides those that every daemon has: "\"gauges\":{...}".
  [[nodiscard]] virtual std::string status_members() const = 0;
  /// Counters, gauges and histograms of its own, for the metrics page.
  virtual void add_metrics(runtime::MetricsPage& page) const = 0;
  /// Where lines about events go from now on, or that nobody wants any: `sink` works in the loop's thread.
  virtual void on_subscription(runtime::EventLog::LineSink sink) { events_.set_line_sink(std::move(sink)); }
  /// Adds the commands that only this daemon has. Called once, before anything is opened.
  virtual void add_commands(runtime::CommandTable& commands) = 0;
  /// Puts back what it changed besides the rules, if those were removed. What the log says of the end.
  virtual std::string end(bool rules_removed) = 0;

  // --- what a daemon may use --------------------------------------------------------------------------------------------

  [[nodiscard]] runtime::EventLoop& loop() { return loop_; }
  [[nodiscard]] runtime::EventLog& events() { return events_; }
  [[nodiscard]] runtime::RuleKeeper& rule_keeper() { return *rules_; }
  /// A reload, or new rules, are under way.
  [[nodiscard]] bool is_reloading() const { return reloading_; }
  /// Puts in what rules() gives now, without a reload. Precondition: !is_reloading().
  void renew_rules();
  /// Calls `input` whenever the descriptor is readable, and sets the engine's timer after it.
  void watch(int descriptor, std::function<void()> input, Duration pause = Duration::zero());
  /// Ends all watches: for the destructor of the class that owns the descriptors.
  void unwatch();
  /// After every input that may change when the engine wants to be called.
  void arm_timer() { timer_.arm(); }

 private:
  Outcome open_control();
  Outcome open_metrics();
  std::string metrics_text() const;
  Outcome open_rules();
  void reload();
  /// Why what was read cannot come into force, if it cannot.
  [[nodiscard]] std::optional<std::string> refusal(const std::optional<Next>& next, const config::Problems& problems) const;
  void end_reload(const Next& next, const Outcome& rules);
  void fail_reload(const std::string& why);
  void reload_if_wanted_again();
  void answer_reloads(const std::function<void(const runtime::ControlAnswer&, const std::string& problems)>& answer);
  void on_reload_command(const runtime::ControlRequest& request, const runtime::ControlAnswer& answer);
  void dry_run(const runtime::ControlAnswer& answer);
  void stop();
  void add_frame_commands();
  [[nodiscard]] std::string counters_members() const;
  [[nodiscard]] std::string whole_status() const;

  Identity identity_;
  TimePoint started_;
  std::optional<runtime::Claim> claim_;
  runtime::EventLoop loop_;
  runtime::EventLog events_;
  std::unique_ptr<runtime::RuleKeeper> rules_;
  runtime::CommandTable commands_;
  std::unique_ptr<runtime::ControlSocket> control_;
  std::unique_ptr<runtime::MetricsServer> metrics_;
  std::vector<int> watched_;
  EngineTimer timer_;
  bool reloading_ = false;
  bool reload_again_ = false;                           // SIGHUP came during a reload
  std::vector<std::string> reload_problems_;            // of the configuration that was read last
  std::vector<runtime::ControlAnswer> reload_answers_;  // to be given when the reload has ended
  std::vector<runtime::ControlAnswer> again_answers_;   // when the one after it has
  runtime::LogLevel level_before_ = runtime::LogLevel::info;
};

/// What every daemon's metrics page begins with.
struct About {
  std::string version;
  double started = 0;  // seconds since 1970
  std::uint64_t rule_repairs = 0;
  bool ready = true;
};
void add_common_metrics(runtime::MetricsPage& page, const About& about);
/// "asrp_node_" of "asrpd-node": what the names of its metrics begin with.
std::string metrics_prefix(const std::string& program);

/// What is bound or opened at the start cannot change while the daemon runs: keeps it in `next`, and adds it to `waiting`.
template <typename Value>
void keep_fixed(std::vector<std::string>& waiting, const std::string& key, Value& next, const Value& now) {
  if (next == now) return;
  waiting.push_back(key);
  next = now;
}

/// The families that this host can have rules of: a kernel without IPv6 has none to remove, and ip6tables may not work at all.
std::vector<Family> rule_families();

}  // namespace asrp::frame
