// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/daemon.hpp"

#include <algorithm>

#include "asrpd-holder/commands/commands.hpp"
#include "asrpd-holder/holder_driver.hpp"
#include "asrpd-holder/load_reporter.hpp"
#include "asrpd-holder/rules.hpp"
#include "asrpd-holder/status.hpp"
#include "frame/packet_edges.hpp"
#include "io/lmdb_store.hpp"
#include "io/marked_flows.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"
#include "runtime/sysctl.hpp"

namespace asrp::holder {
namespace {

using io::IoError;
using runtime::log_error;
using runtime::log_info;
using runtime::log_warning;

constexpr unsigned kQueues = 2;
constexpr Duration kSysctlInterval = std::chrono::seconds(10);
constexpr Duration kLoadInterval = std::chrono::milliseconds(500);  // how old a number of sessions in a report may be
// A notice of a session's end is the occasion to look, and in no hurry; each one alone would wake the daemon.
constexpr Duration kNoticeInterval = std::chrono::milliseconds(20);
// Between pieces of the flows that may ask for a backup again, of some two hundred each.
constexpr Duration kSweepPause = std::chrono::milliseconds(100);
constexpr std::size_t kOctetsPerBackup = 1024;  // address space of the store, not memory
constexpr std::size_t kLeastStore = std::size_t{1} << 30;

bool syn_data_delivered() { return delivers_syn_data(runtime::read_sysctl("net.ipv4.tcp_fastopen").value_or(0)); }

Result<std::vector<io::RuleSet>, IoError> all_rules(const HolderConfig& config, bool syn_data) {
  std::vector<io::RuleSet> sets;
  for (const Family family : frame::rule_families()) {
    auto rules = holder_rules(config, family, syn_data);
    if (!rules) return Failure{rules.error()};
    sets.push_back(std::move(*rules));
  }
  return sets;
}

class Holder final : public frame::Daemon, private HolderAccess {
 public:
  Holder(HolderConfig config, frame::Identity identity) : Daemon(std::move(identity)), config_(std::move(config)) {}
  ~Holder() override { unwatch(); }

 protected:
  [[nodiscard]] Settings settings() const override { return {config_.control, config_.log, config_.on_stop, config_.metrics}; }
  Outcome open_edges() override;
  RuleSets rules() override { return all_rules(config_, syn_data_); }
  Outcome begin() override;
  void begin_watching() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string activity() const override { return "holding backups"; }
  [[nodiscard]] std::optional<TimePoint> next_timeout() const override { return engine_->next_timeout(); }
  void on_timer() override { driver_->on_timer(); }
  void on_rules_repaired() override {}
  std::optional<Next> read_next(const std::string& file, config::Problems& problems) override;
  [[nodiscard]] std::vector<runtime::CounterLine> counter_lines() const override {
    return holder::counter_lines(*engine_, edges(), driver_->statistics(), load_counts_.now());
  }
  [[nodiscard]] std::string status_members() const override { return holder::status_members(*engine_, config_.load); }
  void add_metrics(runtime::MetricsPage& page) const override {
    holder::add_metrics(page, *engine_, edges(), driver_->statistics(), load_counts_.now());
  }
  std::string end(bool rules_removed) override;
  void add_commands(runtime::CommandTable& commands) override { holder::add_commands(commands, *this); }

 private:
  // HolderAccess
  [[nodiscard]] const HolderConfig& config() const override { return config_; }
  [[nodiscard]] engine::HolderEngine& engine() override { return *engine_; }

  Outcome open_sessions();
  Outcome adopt(const HolderConfig& next);
  void check_fastopen();
  void begin_load();
  void look_after_load();
  [[nodiscard]] std::vector<std::string> keep_fixed_settings(HolderConfig& next) const;
  [[nodiscard]] HolderDriver::Edges edges() const {
    const bool is_client = done_flows_ != nullptr;
    return {*edges_.queue,    *edges_.sender, *edges_.messages,
            *sessions_,       *addresses_,    is_client ? edges_.paths.get() : nullptr,
            done_flows_.get()};
  }

  HolderConfig config_;
  bool syn_data_ = false;
  runtime::SystemRandom random_;
  frame::PacketEdges edges_;
  std::unique_ptr<io::HostSessions> sessions_;
  std::unique_ptr<io::LocalAddresses> addresses_;
  std::unique_ptr<io::MarkedFlows> done_flows_;  // only with [act] enabled
  std::unique_ptr<session::RecordStore> store_;
  std::unique_ptr<session::RecordStore> act_store_;  // only with [act] enabled
  std::optional<engine::HolderEngine> engine_;
  std::optional<HolderDriver> driver_;
  std::atomic<std::uint64_t> sessions_now_ = 0;  // for the reporter
  LoadReporter::Counts load_counts_;
  std::unique_ptr<LoadReporter> load_;
  std::vector<std::unique_ptr<LoadReporter>> ending_;  // those of former configurations whose command still runs
};

frame::Daemon::Outcome Holder::open_edges() {
  const std::uint16_t base = config_.queue.base;
  auto edges = frame::PacketEdges::open({config_.queue,
                                         {base, static_cast<std::uint16_t>(base + 1)},
                                         true,
                                         {config_.marks.own},
                                         config_.options.port,
                                         io::PeerErrors::ignore,
                                         true,
                                         io::RouteBy::source_too});
  if (!edges) return Failure{edges.error()};
  edges_ = std::move(*edges);
  config::log_queue(config_.queue, kQueues, edges_.queue->receive_buffer());
  syn_data_ = syn_data_delivered();
  return open_sessions();
}

frame::Daemon::Outcome Holder::open_sessions() {
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
  if (!config_.options.act.enabled) return Done{};
  auto act_store = io::open_lmdb_store({config_.state_dir + "/act", size});
  if (!act_store) return Failure{act_store.error()};
  act_store_ = std::move(*act_store);
  if (auto watching = edges_.paths->watch(); !watching) return Failure{watching.error()};
  auto done_flows = io::MarkedFlows::open(config_.marks.done);
  if (!done_flows) return Failure{done_flows.error()};
  done_flows_ = std::move(*done_flows);
  return Done{};
}

/// Packets wait in the queue meanwhile: nothing is answered before the store is loaded (decision 15).
frame::Daemon::Outcome Holder::begin() {
  engine_.emplace(config_.options, *store_, *sessions_, *edges_.paths, random_, events(), act_store_.get());
  driver_.emplace(*engine_, edges(), DriverOptions{config_.queue.base, config_.marks.own, config_.marks.done},
                  runtime::monotonic_now);
  driver_->on_addresses();
  if (!engine_->load(runtime::monotonic_now()))
    return Failure{IoError{"load the backups from " + config_.state_dir, 0,
                           "the store cannot be read; remove it to begin without backups"}};
  driver_->finish(runtime::monotonic_now());
  return Done{};
}

void Holder::begin_watching() {
  watch(edges_.queue->descriptor(), [this] { driver_->on_packets(); });
  watch(edges_.messages->descriptor(), [this] { driver_->on_messages(); });
  for (const int descriptor : sessions_->descriptors())
    watch(
        descriptor, [this] { driver_->on_notices(); }, kNoticeInterval);
  watch(addresses_->descriptor(), [this] { driver_->on_addresses(); });
  if (const int descriptor = edges_.paths->descriptor(); descriptor >= 0) watch(descriptor, [this] { driver_->on_routes(); });
  if (done_flows_)
    watch(
        done_flows_->descriptor(), [this] { driver_->on_done_flows(); }, kSweepPause);
  loop().every(kSysctlInterval, [this] { check_fastopen(); });
  loop().every(kLoadInterval, [this] {
    look_after_load();
    driver_->look_for_sweep(runtime::monotonic_now());
  });
  begin_load();
}

/// With another configuration a new one takes over; the old one is not waited for.
void Holder::begin_load() {
  if (load_) {
    load_->stop();
    ending_.push_back(std::move(load_));
  }
  look_after_load();
  if (config_.load.enabled)
    load_ = std::make_unique<LoadReporter>(config_.load, config_.options.local_ips, sessions_now_, load_counts_);
}

void Holder::look_after_load() {
  sessions_now_ = engine_->gauges().backups;
  std::erase_if(ending_, [](const auto& each) { return each->is_finished(); });
}

/// An operator who turns TCP Fast Open on changes what a bypassed SYN does (decision 17).
void Holder::check_fastopen() {
  const bool now = syn_data_delivered();
  if (now == syn_data_ || is_reloading()) return;
  syn_data_ = now;
  log_info(
      "rules",
      now ? "net.ipv4.tcp_fastopen delivers SYN data without a cookie: SYN with messages are dropped while the daemon is gone"
          : "net.ipv4.tcp_fastopen asks for cookies again");
  auto sets = all_rules(config_, syn_data_);
  if (!sets) return log_error("rules", sets.error().to_string());
  rule_keeper().replace_later(std::move(*sets), [](const Result<Done, IoError>& done) {
    if (!done) log_error("rules", done.error().to_string());
  });
}

std::string Holder::describe() const {
  const std::string act = config_.options.act.enabled ? ", also as a client (ACT)" : "";
  return "holds " + std::to_string(engine_->gauges().backups) + " backups" + act + ", queues " +
         std::to_string(config_.queue.base) + " and " + std::to_string(config_.queue.base + 1);
}

std::vector<std::string> Holder::keep_fixed_settings(HolderConfig& next) const {
  std::vector<std::string> waiting;
  frame::keep_fixed(waiting, "holder.port", next.options.port, config_.options.port);
  frame::keep_fixed(waiting, "holder.state_dir", next.state_dir, config_.state_dir);
  frame::keep_fixed(waiting, "holder.control_*", next.control, config_.control);
  frame::keep_fixed(waiting, "holder.max_backups", next.options.max_backups, config_.options.max_backups);
  frame::keep_fixed(waiting, "act.enabled", next.options.act.enabled, config_.options.act.enabled);
  frame::keep_fixed(waiting, "[queue]", next.queue, config_.queue);
  frame::keep_fixed(waiting, "[metrics]", next.metrics, config_.metrics);
  frame::keep_fixed(waiting, "marks.own", next.marks.own, config_.marks.own);
  frame::keep_fixed(waiting, "marks.done", next.marks.done, config_.marks.done);
  if (next.follows_udp() && !config_.follows_udp()) waiting.emplace_back("that the ends of UDP sessions are followed");
  return waiting;
}

std::optional<frame::Daemon::Next> Holder::read_next(const std::string& file, config::Problems& problems) {
  auto next = load_config(file, problems);
  if (!next) return std::nullopt;
  const HolderConfig wished = *next;
  auto waiting = keep_fixed_settings(*next);
  auto sets = all_rules(*next, syn_data_);
  const runtime::LogOptions log = next->log;
  auto texts = [this, next = *next, wished] { return Texts{print_config(config_), print_config(next), print_config(wished)}; };
  return Next{std::move(sets),  log, [this, next = std::move(*next)] { return adopt(next); }, std::move(waiting),
              std::move(texts), {}};
}

frame::Daemon::Outcome Holder::adopt(const HolderConfig& next) {
  const bool other_load = next.load != config_.load || next.options.local_ips != config_.options.local_ips;
  config_ = next;
  if (other_load) begin_load();
  const TimePoint now = runtime::monotonic_now();
  engine_->reconfigure(now, config_.options);
  driver_->finish(now);
  driver_->on_addresses();
  return Done{};
}

std::string Holder::end(bool rules_removed) {
  return rules_removed ? "stopped; rules removed" : "stopped; rules stay and let packets bypass";
}

}  // namespace

std::unique_ptr<frame::Daemon> make_daemon(HolderConfig config, frame::Identity identity) {
  return std::make_unique<Holder>(std::move(config), std::move(identity));
}

Result<Done, IoError> remove_everything() {
  const auto claim = runtime::Claim::take("asrpd-holder", "remove rules");
  if (!claim) return Failure{claim.error()};
  for (const Family family : frame::rule_families())
    if (auto done = io::remove_rules(holder_chains(family)); !done) return done;
  return Done{};
}

}  // namespace asrp::holder
