// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "asrpd-holder/holder_driver.hpp"
#include "asrpd-holder/rules.hpp"
#include "asrpd-holder/status.hpp"
#include "io/lmdb_store.hpp"
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
#include "runtime/sysctl.hpp"

namespace asrp::holder {
namespace {

using io::IoError;
using runtime::log_error;
using runtime::log_info;
using runtime::log_warning;

constexpr Duration kSysctlInterval = std::chrono::seconds(10);
constexpr std::size_t kOctetsPerBackup = 1024;  // address space of the store, not memory
constexpr std::size_t kLeastStore = std::size_t{1} << 30;

bool has_ipv6() { return std::filesystem::exists("/proc/sys/net/ipv6"); }

bool syn_data_delivered() { return delivers_syn_data(runtime::read_sysctl("net.ipv4.tcp_fastopen").value_or(0)); }

Result<std::vector<io::RuleSet>, IoError> all_rules(const HolderConfig& config, bool syn_data) {
  std::vector<io::RuleSet> sets;
  for (const Family family : {Family::v4, Family::v6}) {
    if (family == Family::v6 && !has_ipv6()) continue;
    auto rules = holder_rules(config, family, syn_data);
    if (!rules) return Failure{rules.error()};
    sets.push_back(std::move(*rules));
  }
  return sets;
}

class Holder final : public Daemon {
 public:
  Holder(HolderConfig config, std::string config_file)
      : config_(std::move(config)), config_file_(std::move(config_file)), started_(runtime::monotonic_now()) {}
  ~Holder() override { unwatch(); }

  Result<Done, IoError> open();
  void run() override;

 private:
  Result<Done, IoError> open_edges();
  Result<Done, IoError> open_sessions();
  Result<Done, IoError> open_control();
  Result<Done, IoError> load();
  Result<Done, IoError> install_rules(const HolderConfig& config);
  void watch();
  void unwatch();
  void arm_timer();
  void check_fastopen();
  void reload();
  void end_reload(HolderConfig next, const Result<Done, IoError>& rules);
  void fail_reload(const std::string& why);
  void keep_fixed_settings(HolderConfig& next) const;
  void stop();
  bool answer(std::string_view command, std::string& members);
  [[nodiscard]] HolderDriver::Edges edges() const { return {*queue_, *sender_, *messages_, *sessions_, *addresses_}; }

  HolderConfig config_;
  std::string config_file_;
  TimePoint started_;
  std::optional<runtime::Claim> claim_;
  bool syn_data_ = false;
  runtime::EventLoop loop_;
  runtime::SystemRandom random_;
  runtime::EventLog events_;
  std::unique_ptr<io::PacketQueue> queue_;
  std::unique_ptr<io::PacketSender> sender_;
  std::unique_ptr<io::MessageSocket> messages_;
  std::unique_ptr<io::HostSessions> sessions_;
  std::unique_ptr<io::LocalAddresses> addresses_;
  std::unique_ptr<engine::Paths> paths_;
  std::unique_ptr<session::RecordStore> store_;
  std::unique_ptr<runtime::RuleKeeper> rules_;
  std::unique_ptr<runtime::ControlSocket> control_;
  std::optional<engine::HolderEngine> engine_;
  std::optional<HolderDriver> driver_;
  std::optional<TimePoint> armed_;  // what the loop's timer is set to
  bool reloading_ = false;
  bool reload_again_ = false;  // SIGHUP came during a reload
};

Result<Done, IoError> Holder::open_edges() {
  const config::QueueConfig& q = config_.queue;
  const auto number = [&q](unsigned n) { return static_cast<std::uint16_t>(q.base + n); };
  auto queue = io::open_nfqueue({{number(0), number(1)}, q.length, q.receive_buffer, true, q.burst});
  if (!queue) return Failure{queue.error()};
  queue_ = std::move(*queue);
  config::log_queue(q, 2, queue_->receive_buffer());
  auto sender = io::open_raw_sender({config_.marks.own});
  if (!sender) return Failure{sender.error()};
  sender_ = std::move(*sender);
  auto messages = io::open_message_socket(config_.options.port, io::PeerErrors::ignore);
  if (!messages) return Failure{messages.error()};
  messages_ = std::move(*messages);
  auto paths = io::open_route_paths();
  if (!paths) return Failure{paths.error()};
  paths_ = std::move(*paths);
  return Done{};
}

Result<Done, IoError> Holder::open_sessions() {
  auto sessions = io::HostSessions::open(config_.follows_udp());
  if (!sessions) return Failure{sessions.error()};
  sessions_ = std::move(*sessions);
  auto addresses = io::LocalAddresses::open();
  if (!addresses) return Failure{addresses.error()};
  addresses_ = std::move(*addresses);
  const std::size_t size = std::max(kLeastStore, config_.options.max_backups * kOctetsPerBackup);
  auto store = io::open_lmdb_store({config_.state_dir, size});
  if (!store) return Failure{store.error()};
  store_ = std::move(*store);
  return Done{};
}

Result<Done, IoError> Holder::open_control() {
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

Result<Done, IoError> Holder::install_rules(const HolderConfig& config) {
  auto sets = all_rules(config, syn_data_);
  if (!sets) return Failure{sets.error()};
  return rules_->replace(std::move(*sets));
}

/// Packets wait in the queue meanwhile: nothing is answered before the store is loaded (decision 15).
Result<Done, IoError> Holder::load() {
  engine_.emplace(config_.options, *store_, *sessions_, *paths_, random_, events_);
  driver_.emplace(*engine_, edges(), DriverOptions{config_.queue.base, config_.marks.own, config_.marks.done},
                  runtime::monotonic_now);
  driver_->on_addresses();
  if (!engine_->load(runtime::monotonic_now()))
    return Failure{IoError{"load the backups from " + config_.state_dir, 0,
                           "the store cannot be read; remove it to begin without backups"}};
  driver_->finish(runtime::monotonic_now());
  return Done{};
}

Result<Done, IoError> Holder::open() {
  // First: a signal that comes during the start is answered after it.
  loop_.on_signals({SIGHUP, SIGTERM, SIGINT}, [this](int number) {
    if (number == SIGHUP) {
      reload();
    } else {
      stop();
    }
  });
  auto claim = runtime::Claim::take("asrpd-holder", "start");
  if (!claim) return Failure{claim.error()};
  claim_.emplace(std::move(*claim));
  if (auto done = open_control(); !done) return done;
  if (auto done = open_edges(); !done) return done;
  if (auto done = open_sessions(); !done) return done;
  auto rules = runtime::RuleKeeper::open(loop_, [] {});
  if (!rules) return Failure{rules.error()};
  rules_ = std::move(*rules);
  syn_data_ = syn_data_delivered();
  if (auto done = install_rules(config_); !done) return done;
  auto done = load();
  if (!done) rules_->undo_first();
  return done;
}

void Holder::watch() {
  const auto then_arm = [this](void (HolderDriver::*input)()) {
    return [this, input] {
      ((*driver_).*input)();
      arm_timer();
    };
  };
  loop_.watch(queue_->descriptor(), then_arm(&HolderDriver::on_readable));
  loop_.watch(messages_->descriptor(), then_arm(&HolderDriver::on_readable));
  for (const int fd : sessions_->descriptors()) loop_.watch(fd, then_arm(&HolderDriver::on_notices));
  loop_.watch(addresses_->descriptor(), then_arm(&HolderDriver::on_addresses));
  loop_.every(kSysctlInterval, [this] { check_fastopen(); });
  if (const auto interval = runtime::watchdog_interval()) loop_.every(*interval, [] { runtime::notify_watchdog(); });
}

void Holder::unwatch() {
  if (queue_) loop_.unwatch(queue_->descriptor());
  if (messages_) loop_.unwatch(messages_->descriptor());
  if (sessions_)
    for (const int fd : sessions_->descriptors()) loop_.unwatch(fd);
  if (addresses_) loop_.unwatch(addresses_->descriptor());
}

/// Waking up too early is harmless and rare, setting the timer after every burst is a system call.
void Holder::arm_timer() {
  const auto at = engine_->next_timeout();
  if (!at || (armed_ && *armed_ <= *at)) return;
  armed_ = at;
  loop_.set_timer(*at, [this] {
    armed_.reset();
    driver_->on_timer();
    arm_timer();
  });
}

/// An operator who turns TCP Fast Open on changes what a bypassed SYN does (decision 17).
void Holder::check_fastopen() {
  const bool now = syn_data_delivered();
  if (now == syn_data_ || reloading_) return;
  syn_data_ = now;
  log_info(
      "rules",
      now ? "net.ipv4.tcp_fastopen delivers SYN data without a cookie: SYN with messages are dropped while the daemon is gone"
          : "net.ipv4.tcp_fastopen asks for cookies again");
  auto sets = all_rules(config_, syn_data_);
  if (!sets) return log_error("rules", sets.error().to_string());
  rules_->replace_later(std::move(*sets), [](const Result<Done, IoError>& done) {
    if (!done) log_error("rules", done.error().to_string());
  });
}

void Holder::run() {
  watch();
  arm_timer();
  log_info("start", "asrpd-holder " ASRP_VERSION " holds " + std::to_string(engine_->gauges().backups) + " backups, queues " +
                        std::to_string(config_.queue.base) + " and " + std::to_string(config_.queue.base + 1));
  runtime::notify_ready("holding backups");
  loop_.run();
}

/// What is bound or opened at the start cannot change while the daemon runs.
void Holder::keep_fixed_settings(HolderConfig& next) const {
  const auto fixed = [](const char* key, auto& value, const auto& now) {
    if (value == now) return;
    log_warning("reload", std::string(key) + " has changed; it takes effect at the next start");
    value = now;
  };
  fixed("holder.port", next.options.port, config_.options.port);
  fixed("holder.state_dir", next.state_dir, config_.state_dir);
  fixed("holder.control_socket", next.control_socket, config_.control_socket);
  fixed("holder.max_backups", next.options.max_backups, config_.options.max_backups);
  fixed("[queue]", next.queue, config_.queue);
  fixed("marks.own", next.marks.own, config_.marks.own);
  fixed("marks.done", next.marks.done, config_.marks.done);
  if (next.follows_udp() && !config_.follows_udp())
    log_warning("reload", "a first UDP service is there; its sessions' ends are followed from the next start on");
}

/// All or nothing. The rules come first and in another thread: packets go on meanwhile under the old configuration.
void Holder::reload() {
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
  auto sets = all_rules(*next, syn_data_);
  if (!sets) return fail_reload(sets.error().to_string());
  if (const auto trouble = runtime::configure_log(next->log)) return fail_reload("log: " + *trouble);
  reloading_ = true;
  rules_->replace_later(std::move(*sets), [this, next = std::move(*next)](const Result<Done, IoError>& done) mutable {
    end_reload(std::move(next), done);
  });
}

void Holder::end_reload(HolderConfig next, const Result<Done, IoError>& rules) {
  reloading_ = false;
  if (rules) {
    config_ = std::move(next);
    const TimePoint now = runtime::monotonic_now();
    engine_->reconfigure(now, config_.options);
    driver_->finish(now);
    driver_->on_addresses();
    arm_timer();
    log_info("reload", config_file_ + " is in force");
    runtime::notify_ready("holding backups");
  } else {
    fail_reload(rules.error().to_string());
  }
  if (std::exchange(reload_again_, false)) reload();
}

void Holder::fail_reload(const std::string& why) {
  (void)runtime::configure_log(config_.log);
  log_error("reload", why + ": the running configuration stays");
  runtime::notify_ready("holding backups; the last reload failed");
}

void Holder::stop() {
  runtime::notify_stopping();
  if (config_.on_stop == config::OnStop::remove) rules_->remove();
  log_info("stop",
           config_.on_stop == config::OnStop::remove ? "stopped; rules removed" : "stopped; rules stay and let packets bypass");
  loop_.stop();
}

bool Holder::answer(std::string_view command, std::string& members) {
  if (!driver_) return false;
  if (command == "counters") {
    auto lines = counter_lines(*engine_, edges(), driver_->statistics());
    lines.push_back({"rules.repairs", rules_->repairs(), "times that rules were put back"});
    members = runtime::counters_members(lines);
    return true;
  }
  if (command == "status") {
    members = status_members(*engine_, std::chrono::duration<double>(runtime::monotonic_now() - started_).count());
    return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<Daemon>, IoError> Daemon::start(HolderConfig config, const std::string& config_file) {
  auto holder = std::make_unique<Holder>(std::move(config), std::filesystem::absolute(config_file).string());
  if (auto done = holder->open(); !done) return Failure{done.error()};
  return std::unique_ptr<Daemon>(std::move(holder));
}

Result<Done, IoError> remove_everything() {
  const auto claim = runtime::Claim::take("asrpd-holder", "remove rules");
  if (!claim) return Failure{claim.error()};
  for (const Family family : {Family::v4, Family::v6}) {
    if (family == Family::v6 && !has_ipv6()) continue;  // nothing to remove, and ip6tables may not work at all
    if (auto done = io::remove_rules(holder_chains(family)); !done) return done;
  }
  return Done{};
}

}  // namespace asrp::holder
