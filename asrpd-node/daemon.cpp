// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/daemon.hpp"

#include <csignal>
#include <filesystem>
#include <set>

#include "asrpd-node/flow_rules.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/rules.hpp"
#include "asrpd-node/state.hpp"
#include "asrpd-node/status.hpp"
#include "asrpd-node/sysctls.hpp"
#include "asrpd-node/table_sweep.hpp"
#include "io/nfqueue.hpp"
#include "io/route_paths.hpp"
#include "runtime/claim.hpp"
#include "runtime/clock.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/event_log.hpp"
#include "runtime/event_loop.hpp"
#include "runtime/log.hpp"
#include "runtime/notify.hpp"
#include "runtime/rule_keeper.hpp"

namespace asrp::node {
namespace {

using io::IoError;
using runtime::log_error;
using runtime::log_info;
using runtime::log_warning;

constexpr Duration kFillInterval = std::chrono::seconds(1);

Result<std::vector<io::RuleSet>, IoError> all_rules(const NodeConfig& config) {
  std::vector<io::RuleSet> sets;
  for (const Family family : {Family::v4, Family::v6}) {
    auto rules = node_rules(config, family);
    if (!rules) return Failure{rules.error()};
    sets.push_back(std::move(*rules));
  }
  return sets;
}

engine::NodeOptions engine_options(const NodeConfig& config, const State& state) {
  engine::NodeOptions options = to_options(config, history_of(state));
  options.admitted_mark = config.marks.admitted;
  return options;
}

class Node final : public Daemon {
 public:
  Node(NodeConfig config, std::string config_file)
      : config_(std::move(config)), config_file_(std::move(config_file)), started_(runtime::monotonic_now()) {}
  ~Node() override { unwatch(); }

  Result<Done, IoError> open();
  void run() override;

 private:
  Result<Done, IoError> open_edges();
  Result<Done, IoError> open_control();
  void make_engine();
  void watch();
  void unwatch();
  void arm_timer();
  void sweep_marked();
  void sweep_untranslated();
  void sweep_orphans(const std::vector<engine::Service>& before);
  void reload();
  void end_reload(NodeConfig next, const Result<Done, IoError>& rules);
  void fail_reload(const std::string& why);
  Result<Done, IoError> bring_into_force(const NodeConfig& config);
  void keep_fixed_settings(NodeConfig& next) const;
  void stop();
  bool answer(std::string_view command, std::string& members);
  [[nodiscard]] NodeDriver::Edges edges() const { return {*queue_, *sender_, *messages_, *conntrack_}; }

  NodeConfig config_;
  std::string config_file_;
  TimePoint started_;
  std::optional<runtime::Claim> claim_;
  State state_;
  runtime::EventLoop loop_;
  runtime::SystemRandom random_;
  runtime::EventLog events_;
  std::unique_ptr<io::PacketQueue> queue_;
  std::unique_ptr<io::PacketSender> sender_;
  std::unique_ptr<io::MessageSocket> messages_;
  std::unique_ptr<io::Conntrack> conntrack_;
  std::unique_ptr<TableSweep> sweep_;
  std::unique_ptr<engine::Paths> paths_;
  std::unique_ptr<runtime::RuleKeeper> rules_;
  std::unique_ptr<runtime::ControlSocket> control_;
  std::optional<engine::NodeEngine> engine_;
  std::optional<NodeDriver> driver_;
  std::optional<TimePoint> armed_;  // what the loop's timer is set to
  bool reloading_ = false;
  bool reload_again_ = false;  // SIGHUP came during a reload
};

Result<Done, IoError> Node::open_edges() {
  const config::QueueConfig& q = config_.queue;
  const auto number = [&q](unsigned n) { return static_cast<std::uint16_t>(q.base + n); };
  auto queue = io::open_nfqueue({{number(0), number(1), number(2)}, q.length, q.receive_buffer, false, q.burst});
  if (!queue) return Failure{queue.error()};
  queue_ = std::move(*queue);
  config::log_queue(q, 3, queue_->receive_buffer());
  auto conntrack = io::Conntrack::open({config_.marks.waiting, config_.marks.unprotected, 30});
  if (!conntrack) return Failure{conntrack.error()};
  conntrack_ = std::move(*conntrack);
  auto swept = io::Conntrack::open({config_.marks.waiting, config_.marks.unprotected, 30});
  if (!swept) return Failure{swept.error()};
  sweep_ = TableSweep::open(loop_, std::move(*swept));
  auto sender = io::open_raw_sender({config_.marks.flow, config_.marks.own});
  if (!sender) return Failure{sender.error()};
  sender_ = std::move(*sender);
  auto messages = io::open_message_socket(config_.port, io::PeerErrors::watch);
  if (!messages) return Failure{messages.error()};
  messages_ = std::move(*messages);
  auto paths = io::open_route_paths();
  if (!paths) return Failure{paths.error()};
  paths_ = std::move(*paths);
  return Done{};
}

Result<Done, IoError> Node::open_control() {
  auto control =
      runtime::ControlSocket::open(loop_, config_.control_socket,
                                   [this](std::string_view command, std::string& members) { return answer(command, members); });
  if (!control) return Failure{control.error()};
  control_ = std::move(*control);
  control_->on_subscription([this](bool wanted) {
    events_.set_line_sink(wanted ? [this](const std::string& line) { control_->publish(line); }
                                 : runtime::EventLog::LineSink());
  });
  return Done{};
}

Result<Done, IoError> Node::open() {
  // First: a signal that comes during the start is answered after it.
  loop_.on_signals({SIGHUP, SIGTERM, SIGINT}, [this](int number) {
    if (number == SIGHUP) {
      reload();
    } else {
      stop();
    }
  });
  auto claim = runtime::Claim::take("asrpd-node", "start");
  if (!claim) return Failure{claim.error()};
  claim_.emplace(std::move(*claim));
  if (config_.has_family(Family::v6))
    if (auto trouble = ipv6_trouble()) return Failure{std::move(*trouble)};
  if (auto done = open_control(); !done) return done;
  if (auto done = open_edges(); !done) return done;
  auto rules = runtime::RuleKeeper::open(loop_, [this] { sweep_untranslated(); });
  if (!rules) return Failure{rules.error()};
  rules_ = std::move(*rules);
  auto sets = all_rules(config_);
  if (!sets) return Failure{sets.error()};
  if (auto done = rules_->replace(std::move(*sets)); !done) return done;
  if (auto done = bring_into_force(config_); !done) {
    rules_->undo_first();
    return done;
  }
  for (const std::string& problem : forwarding_problems(config_)) log_warning("forwarding", problem);
  return Done{};
}

/// Sysctls, state file and engine for `config`, whose rules are in place.
Result<Done, IoError> Node::bring_into_force(const NodeConfig& config) {
  std::string trouble;
  if (!driver_) state_ = load_state(config.state_dir, trouble);
  if (!trouble.empty()) log_error("state", trouble);
  State next = next_state(state_, config);
  if (next != state_) {
    if (auto done = save_state(config.state_dir, next); !done) return done;
    state_ = std::move(next);
  }
  if (auto done = apply_sysctls(config); !done) return done;
  engine::NodeOptions options = engine_options(config, state_);
  if (driver_) {
    const TimePoint now = runtime::monotonic_now();
    const std::vector<engine::Service> before = engine_->options().services;
    engine_->reconfigure(now, std::move(options));
    driver_->finish(now);
    sweep_orphans(before);
  } else {
    engine_.emplace(std::move(options), *conntrack_, *paths_, random_, events_);
    driver_.emplace(*engine_, edges(),
                    DriverOptions{config.queue.base, config.marks.admitted, config.marks.flow, config.marks.own},
                    runtime::monotonic_now);
  }
  return Done{};
}

void Node::sweep_marked() {
  sweep_->begin(
      TableSweep::What::marked, [](const engine::FlowEntry&) { return true; },
      [this](std::span<const engine::FlowEntry> found) {
        driver_->on_marked_flows(found);
        arm_timer();
      },
      [this] {
        driver_->on_marked_flows_end();
        arm_timer();
      });
}

void Node::sweep_untranslated() {
  sweep_->begin(
      TableSweep::What::untranslated,
      [services = engine_->options().services](const engine::FlowEntry& entry) {
        return service_at(services, entry.tuples.client_side) != nullptr;
      },
      [this](std::span<const engine::FlowEntry> found) { driver_->remove_untranslated_flows(found); }, [] {});
}

void Node::sweep_orphans(const std::vector<engine::Service>& before) {
  const std::vector<engine::Service>& after = engine_->options().services;
  if (!leaves_orphans(before, after)) return;  // the usual reload
  sweep_->begin(
      TableSweep::What::translated, [before, after](const engine::FlowEntry& entry) { return is_orphan(before, after, entry); },
      [this](std::span<const engine::FlowEntry> found) { driver_->remove_orphaned_flows(found); }, [] {});
}

void Node::watch() {
  const auto taken = [this] {
    driver_->on_readable();
    arm_timer();
  };
  loop_.watch(queue_->descriptor(), taken);
  loop_.watch(messages_->descriptor(), taken);
  loop_.every(config_.recovery.unprotected_interval, [this] { sweep_marked(); });
  loop_.every(kFillInterval, [this] { driver_->check_table_fill(); });
  if (const auto interval = runtime::watchdog_interval()) loop_.every(*interval, [] { runtime::notify_watchdog(); });
}

void Node::unwatch() {
  if (queue_) loop_.unwatch(queue_->descriptor());
  if (messages_) loop_.unwatch(messages_->descriptor());
}

/// Waking up too early is harmless and rare, setting the timer after every burst is a system call.
void Node::arm_timer() {
  const auto at = engine_->next_timeout();
  if (!at || (armed_ && *armed_ <= *at)) return;
  armed_ = at;
  loop_.set_timer(*at, [this] {
    armed_.reset();
    driver_->on_timer();
    arm_timer();
  });
}

void Node::run() {
  watch();
  sweep_untranslated();
  sweep_marked();
  arm_timer();
  log_info("start", "asrpd-node " ASRP_VERSION " serves " + std::to_string(config_.services.size()) + " services, queues " +
                        std::to_string(config_.queue.base) + " to " + std::to_string(config_.queue.base + 2));
  runtime::notify_ready("serving");
  loop_.run();
}

/// What is bound or opened at the start cannot change while the daemon runs.
void Node::keep_fixed_settings(NodeConfig& next) const {
  const auto fixed = [](const char* key, auto& value, const auto& now) {
    if (value == now) return;
    log_warning("reload", std::string(key) + " has changed; it takes effect at the next start");
    value = now;
  };
  fixed("node.port", next.port, config_.port);
  fixed("node.state_dir", next.state_dir, config_.state_dir);
  fixed("node.control_socket", next.control_socket, config_.control_socket);
  fixed("[queue]", next.queue, config_.queue);
  fixed("[marks]", next.marks, config_.marks);
  fixed("recovery.unprotected_interval", next.recovery.unprotected_interval, config_.recovery.unprotected_interval);
}

/// All or nothing. The rules come first and in another thread: packets go on meanwhile under the old configuration.
void Node::reload() {
  if (reloading_) {
    reload_again_ = true;
    return;
  }
  runtime::notify_reloading();
  config::Problems problems;
  auto next = load_config(config_file_, problems);
  for (const config::Problem& problem : problems.list)
    runtime::log(problem.is_warning ? runtime::LogLevel::warning : runtime::LogLevel::error, "config", problem.to_string());
  if (!next)
    return fail_reload(config_file_ + " has " + std::to_string(problems.errors()) +
                       (problems.errors() == 1 ? " problem" : " problems"));
  keep_fixed_settings(*next);
  auto sets = all_rules(*next);
  if (!sets) return fail_reload(sets.error().to_string());
  if (const auto trouble = runtime::configure_log(next->log)) return fail_reload("log: " + *trouble);
  reloading_ = true;
  rules_->replace_later(std::move(*sets), [this, next = std::move(*next)](const Result<Done, IoError>& done) mutable {
    end_reload(std::move(next), done);
  });
}

void Node::end_reload(NodeConfig next, const Result<Done, IoError>& rules) {
  reloading_ = false;
  if (!rules) {
    fail_reload(rules.error().to_string());
  } else if (auto done = bring_into_force(next); !done) {
    if (auto sets = all_rules(config_)) (void)rules_->replace(std::move(*sets));
    fail_reload(done.error().to_string());
  } else {
    config_ = std::move(next);
    arm_timer();
    log_info("reload", config_file_ + " is in force");
    runtime::notify_ready("serving");
  }
  if (std::exchange(reload_again_, false)) reload();
}

void Node::fail_reload(const std::string& why) {
  (void)runtime::configure_log(config_.log);
  log_error("reload", why + ": the running configuration stays");
  runtime::notify_ready("serving; the last reload failed");
}

void Node::stop() {
  runtime::notify_stopping();
  if (config_.on_stop == config::OnStop::remove) {
    rules_->remove();
    if (auto done = restore_sysctls(config_.state_dir); !done) log_error("stop", done.error().to_string());
    log_info("stop", "stopped; rules removed");
  } else {
    log_info("stop", "stopped; rules stay: known sessions go on, new ones wait (on_stop = \"keep\")");
  }
  loop_.stop();
}

bool Node::answer(std::string_view command, std::string& members) {
  if (!driver_) return false;
  if (command == "counters") {
    auto lines = counter_lines(*engine_, edges(), driver_->statistics());
    lines.push_back({"rules.repairs", rules_->repairs(), "times that rules were put back"});
    members = runtime::counters_members(lines);
    return true;
  }
  if (command == "status") {
    members = status_members(*engine_, edges(), std::chrono::duration<double>(runtime::monotonic_now() - started_).count());
    return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Daemon>, IoError> Daemon::start(NodeConfig config, const std::string& config_file) {
  auto node = std::make_unique<Node>(std::move(config), std::filesystem::absolute(config_file).string());
  if (auto done = node->open(); !done) return Failure{done.error()};
  return std::unique_ptr<Daemon>(std::move(node));
}

Result<Done, IoError> remove_everything(const std::optional<NodeConfig>& config) {
  // Held to the end: no daemon starts in the middle.
  const auto claim = runtime::Claim::take("asrpd-node", "remove rules");
  if (!claim) return Failure{claim.error()};
  std::set<std::string> state_dirs;
  if (config) state_dirs.insert(config->state_dir);
  for (const Family family : {Family::v4, Family::v6}) {
    // Without IPv6 there is nothing to remove, and ip6tables may not work at all.
    if (family == Family::v6 && !std::filesystem::exists("/proc/sys/net/ipv6")) continue;
    const auto state_dir = state_dir_in_rules(family);
    if (!state_dir) return Failure{state_dir.error()};
    if (*state_dir) state_dirs.insert(**state_dir);
    if (auto done = io::remove_rules(node_chains(family)); !done) return done;
  }
  if (state_dirs.empty()) state_dirs.insert(NodeConfig{}.state_dir);  // the rules were removed by hand
  for (const std::string& state_dir : state_dirs)
    if (auto done = restore_sysctls(state_dir); !done) return done;
  return Done{};
}

}  // namespace asrp::node
