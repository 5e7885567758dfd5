// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/daemon.hpp"

#include <set>

#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/flow_rules.hpp"
#include "asrpd-node/load_receiver.hpp"
#include "asrpd-node/mapping_watch.hpp"
#include "asrpd-node/nat_status.hpp"
#include "asrpd-node/own_addresses.hpp"
#include "asrpd-node/past_ranges.hpp"
#include "asrpd-node/rules.hpp"
#include "asrpd-node/server_watch.hpp"
#include "asrpd-node/session_count.hpp"
#include "asrpd-node/state.hpp"
#include "asrpd-node/status.hpp"
#include "asrpd-node/sysctls.hpp"
#include "asrpd-node/table_sweep.hpp"
#include "asrpd-node/workers.hpp"
#include "runtime/clock.hpp"
#include "runtime/digest.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using io::IoError;
using runtime::log_error;
using runtime::log_warning;

constexpr Duration kFillInterval = std::chrono::seconds(1);
constexpr Duration kAddressInterval = std::chrono::seconds(10);
constexpr Duration kFormerInterval = std::chrono::minutes(10);

std::int64_t wall_milliseconds() { return static_cast<std::int64_t>(runtime::wall_clock_seconds() * 1000); }

std::string counted(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

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

Digests digests_of(const engine::NodeOptions& options) { return {placement_digest(options), cookie_keys_digest(options)}; }

class Node final : public frame::Daemon, private NodeAccess {
 public:
  Node(NodeConfig config, frame::Identity identity) : Daemon(std::move(identity)), config_(std::move(config)) {}
  ~Node() override {
    workers_.stop();
    unwatch();
  }

 protected:
  [[nodiscard]] Settings settings() const override { return {config_.control, config_.log, config_.on_stop, config_.metrics}; }
  Outcome open_edges() override;
  RuleSets rules() override { return all_rules(config_); }
  Outcome begin() override;
  void begin_watching() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string activity() const override { return "serving"; }
  [[nodiscard]] std::optional<TimePoint> next_timeout() const override { return workers_.first().engine().next_timeout(); }
  void on_timer() override { workers_.first().driver().on_timer(); }
  void on_rules_repaired() override { sweep_untranslated(); }
  std::optional<Next> read_next(const std::string& file, config::Problems& problems) override;
  [[nodiscard]] std::vector<runtime::CounterLine> counter_lines() const override;
  [[nodiscard]] bool is_ready() const override { return reasons_against(*this).empty(); }
  [[nodiscard]] std::string status_members() const override;
  void add_metrics(runtime::MetricsPage& page) const override;
  void on_subscription(runtime::EventLog::LineSink sink) override;
  std::string end(bool rules_removed) override;
  void add_commands(runtime::CommandTable& commands) override { node::add_commands(commands, *this); }

 private:
  // NodeAccess
  [[nodiscard]] const NodeConfig& config() const override { return config_; }
  [[nodiscard]] runtime::EventLoop& event_loop() override { return loop(); }
  [[nodiscard]] const engine::NodeOptions& options() const override { return workers_.first().engine().options(); }
  void for_each_worker(const std::function<void(Worker&)>& task) override { workers_.call(task); }
  [[nodiscard]] const ServerWatch& servers() const override { return *servers_; }
  [[nodiscard]] engine::HolderSight holder_sight(const IpAddress& host) override {
    return workers_.first().engine().holder_sight(host);
  }
  [[nodiscard]] std::optional<std::uint32_t> load_of(const IpAddress& host) const override {
    return loads_.load_of(runtime::monotonic_now(), host);
  }
  [[nodiscard]] std::uint64_t revision() const override { return revision_; }
  Result<std::unique_ptr<io::Conntrack>, IoError> open_table() override { return open_conntrack(config_); }
  Outcome change_drains(Drains next) override;
  [[nodiscard]] const State& state() const override { return state_; }
  Outcome take_over(const State& told) override;
  void count_sessions(std::function<void(const SessionCount& sessions)> counted) override;

  Outcome adopt(const NodeConfig& next);
  Outcome prepare_host(const NodeConfig& config);
  Outcome follow_mappings(const NodeConfig& config);
  Outcome keep_epochs(const NodeConfig& config, const State& told);
  Outcome keep_ranges(const NodeConfig& config);
  void sweep_former();
  void forget_ranges(const FormerSessions& sessions);
  void reconfigure_engines(const NodeConfig& config);
  [[nodiscard]] Measured measured() const;
  [[nodiscard]] std::vector<std::string> keep_fixed_settings(NodeConfig& next) const;
  Outcome watch_servers();
  void tell_engines(const std::string& pool, const std::string& server, engine::ServerState state);
  void tell_load(const std::string& pool, const std::string& server, std::uint32_t load);
  void take_reports();
  [[nodiscard]] LoadStatus load_status() const;
  void tell_overdue(const Drains& overdue);
  Outcome keep_drains(const Drains& drains);
  void sweep_marked();
  void sweep_untranslated();
  void sweep_orphans(const std::vector<engine::Service>& before);

  NodeConfig config_;
  State state_;
  RangesState ranges_;
  Digests digests_;                       // of what is in force
  std::optional<MappingWatch> mappings_;  // ACT mode
  Workers workers_{loop()};               // the first does what is done once for the node
  std::unique_ptr<TableSweep> sweep_;     // its thread uses mappings_
  OwnAddresses own_addresses_;
  runtime::SystemRandom random_;
  std::optional<ServerWatch> servers_;
  std::uint64_t revision_ = 0;
  std::unique_ptr<io::MessageSocket> reports_;  // none: load reports are not taken
  LoadReceiver loads_{
      [this](const std::string& pool, const std::string& server, std::uint32_t load) { tell_load(pool, server, load); }};
  std::vector<std::function<void(const SessionCount&)>> counting_;  // wait for the count that is under way
};

frame::Daemon::Outcome Node::open_edges() {
  if (config_.nat) {
    std::string trouble;
    ranges_ = load_ranges(config_.state_dir, trouble);
    if (!trouble.empty()) log_error("state", trouble);
    set_former(*config_.nat, next_ranges(ranges_, *config_.nat, wall_milliseconds()));
  }
  if (config_.has_family(Family::v6))
    if (auto trouble = ipv6_trouble()) return Failure{std::move(*trouble)};
  if (auto done = workers_.open(config_); !done) return done;
  config::log_queue(config_.queue, kQueuesPerWorker * config_.queue.workers, workers_.first().edges().queue.receive_buffer());
  if (config_.load.enabled) {
    auto reports = io::open_message_socket(config_.load.port, io::PeerErrors::ignore);
    if (!reports) return Failure{reports.error()};
    reports_ = std::move(*reports);
  }
  auto swept = open_conntrack(config_);
  if (!swept) return Failure{swept.error()};
  sweep_ = TableSweep::open(loop(), std::move(*swept));
  if (config_.nat) mappings_.emplace(loop(), *sweep_, random_.u64());
  return Done{};
}

frame::Daemon::Outcome Node::begin() {
  std::string trouble;
  state_ = load_state(config_.state_dir, trouble);
  if (!trouble.empty()) log_error("state", trouble);
  if (auto done = prepare_host(config_); !done) return done;
  if (auto done = follow_mappings(config_); !done) return done;
  if (mappings_) mappings_->load(workers_.first().edges().conntrack);
  Mappings* const mappings = mappings_ ? &mappings_->mappings() : nullptr;
  workers_.begin(
      config_, engine_options(config_, state_), events(), [this](const IpAddress& host) { servers_->on_hint(host); }, mappings);
  digests_ = digests_of(workers_.first().engine().options());
  loads_.configure(config_);
  if (auto done = watch_servers(); !done) return done;
  for (const std::string& problem : forwarding_problems(config_)) log_warning("forwarding", problem);
  return Done{};
}

frame::Daemon::Outcome Node::watch_servers() {
  servers_.emplace(
      loop(), random_, [this](const IpAddress& host) { return workers_.first().engine().holder_sight(host); },
      [this](const std::string& pool, const std::string& server, engine::ServerState state) {
        tell_engines(pool, server, state);
      },
      [this](const Drains& overdue) { tell_overdue(overdue); });
  std::string trouble;
  const Drains kept = load_drains(config_.state_dir, trouble);
  if (!trouble.empty()) log_error("state", trouble);
  servers_->set_drains(next_drains(kept, config_));
  servers_->configure(config_);
  return keep_drains(kept);
}

/// Writes the drains that are in force, if they are other ones than `drains`.
frame::Daemon::Outcome Node::keep_drains(const Drains& drains) {
  if (servers_->drains() == drains) return Done{};
  return save_drains(config_.state_dir, servers_->drains());
}

void Node::tell_engines(const std::string& pool, const std::string& server, engine::ServerState state) {
  workers_.post([pool, server, state](Worker& worker) {
    worker.engine().on_server_state(runtime::monotonic_now(), pool, server, state);
  });
}

void Node::tell_overdue(const Drains& overdue) {
  count_sessions([this, overdue](const SessionCount& sessions) {
    const auto tell = [](const std::string& what, std::uint64_t left) {
      log_warning("drain", "the deadline of " + what + " is over, and it has " + std::to_string(left) + " sessions here");
    };
    if (overdue.node) tell("the node", sessions.all());
    for (const PoolConfig& pool : config_.pools)
      for (const engine::Backend& server : pool.servers)
        if (overdue.servers.count({pool.name, server.id}) != 0)
          tell("server " + server.id + " of pool " + pool.name, sessions.at(pool.name, server.address));
  });
}

frame::Daemon::Outcome Node::change_drains(Drains next) {
  if (auto done = save_drains(config_.state_dir, next); !done) return done;
  servers_->set_drains(std::move(next));
  return Done{};
}

/// One count at a time, for all who ask meanwhile.
void Node::count_sessions(std::function<void(const SessionCount& sessions)> counted) {
  counting_.push_back(std::move(counted));
  if (counting_.size() > 1) return;
  std::vector<Prefix> clients;
  if (config_.nat)
    for (const Family family : {Family::v4, Family::v6})
      for (const Prefix& each : config_.nat->clients(family)) clients.push_back(each);
  const auto count = std::make_shared<SessionCount>(workers_.first().engine().options().services, std::move(clients));
  sweep_->begin(
      TableSweep::What::translated,
      [count](const engine::FlowEntry& entry) {
        count->add(entry);
        return false;  // nothing of it is wanted besides
      },
      [](std::span<const engine::FlowEntry>) {},
      [this, count] {
        for (const auto& each : std::exchange(counting_, {})) each(*count);
      });
}

frame::Daemon::Outcome Node::follow_mappings(const NodeConfig& config) {
  if (!mappings_) return Done{};
  return mappings_->configure(config.nat->settings, workers_.first().edges().conntrack.fill().maximum);
}

/// State file and sysctls for `config`, whose rules are in place.
frame::Daemon::Outcome Node::prepare_host(const NodeConfig& config) {
  std::string trouble;
  const auto given = load_given_state(config.state_dir, trouble);
  if (!trouble.empty()) log_error("state", trouble);
  if (auto done = keep_epochs(config, given ? *given : State()); !done) return done;
  if (given) {
    remove_given_state(config.state_dir);
    runtime::log_info("state", "another node's former pools have been taken over");
  }
  if (auto done = apply_sysctls(config); !done) return done;
  return keep_ranges(config);
}

/// The former ranges that `config` has been given already, and today's with them, written down.
frame::Daemon::Outcome Node::keep_ranges(const NodeConfig& config) {
  if (!config.nat) return Done{};
  RangesState next = next_ranges(ranges_, *config.nat, wall_milliseconds());
  next.past = config.nat->former;
  if (ranges_json(next) == ranges_json(ranges_)) return Done{};
  if (auto done = save_ranges(config.state_dir, next); !done) return done;
  if (next.past.size() > ranges_.past.size())
    runtime::log_info("ranges",
                      "ports of clients have moved: sessions of the former ranges are served on, new ones are in today's");
  ranges_ = std::move(next);
  return Done{};
}

/// What this node knows, with what it is told, under `config`; written down.
frame::Daemon::Outcome Node::keep_epochs(const NodeConfig& config, const State& told) {
  const auto now = static_cast<BeginTime>(runtime::wall_clock_seconds() * 1000);
  State next = next_state(merged_state(state_, told), config, now);
  if (next == state_) return Done{};
  if (auto done = save_state(config.state_dir, next); !done) return done;
  state_ = std::move(next);
  return Done{};
}

frame::Daemon::Outcome Node::take_over(const State& told) {
  if (auto done = keep_epochs(config_, told); !done) return done;
  reconfigure_engines(config_);
  runtime::log_info("state", "another node's former pools have been taken over");
  return Done{};
}

void Node::reconfigure_engines(const NodeConfig& config) {
  const engine::NodeOptions options = engine_options(config, state_);
  workers_.call([&options](Worker& worker) { worker.reconfigure(options); });
  digests_ = digests_of(options);
}

frame::Daemon::Outcome Node::adopt(const NodeConfig& next) {
  if (auto done = prepare_host(next); !done) return done;
  if (auto done = follow_mappings(next); !done) return done;
  const std::vector<engine::Service> before = workers_.first().engine().options().services;
  reconfigure_engines(next);
  config_ = next;
  ++revision_;
  loads_.configure(config_);
  sweep_orphans(before);
  sweep_former();
  const Drains drains = servers_->drains();
  servers_->configure(config_);
  // The reload is in force whatever becomes of the file: what is in it too much is forgotten at the next start.
  if (auto done = keep_drains(drains); !done) log_error("drain", done.error().to_string());
  return Done{};
}

void Node::sweep_marked() {
  sweep_->begin(
      TableSweep::What::marked, [](const engine::FlowEntry&) { return true; },
      [this](std::span<const engine::FlowEntry> found) {
        workers_.on_marked_flows(found);
        arm_timer();
      },
      [this] {
        workers_.post([](Worker& worker) { worker.driver().on_marked_flows_end(); });
        arm_timer();
      });
}

void Node::sweep_untranslated() {
  sweep_->begin(
      TableSweep::What::untranslated,
      [options = workers_.first().engine().options()](const engine::FlowEntry& entry) {
        return wants_translation(options, entry.tuples.client_side);
      },
      [this](std::span<const engine::FlowEntry> found) { workers_.first().driver().remove_untranslated_flows(found); }, [] {});
}

void Node::sweep_orphans(const std::vector<engine::Service>& before) {
  const std::vector<engine::Service>& after = workers_.first().engine().options().services;
  if (!leaves_orphans(before, after)) return;  // the usual reload
  sweep_->begin(
      TableSweep::What::translated, [before, after](const engine::FlowEntry& entry) { return is_orphan(before, after, entry); },
      [this](std::span<const engine::FlowEntry> found) { workers_.first().driver().remove_orphaned_flows(found); }, [] {});
}

/// Looks what sessions of former ranges there are. Those that cannot go on are removed, ranges that nobody needs forgotten.
void Node::sweep_former() {
  if (!config_.nat || config_.nat->former.empty() || is_reloading()) return;
  const auto sessions = std::make_shared<FormerSessions>(config_.nat->settings);
  sweep_->begin(
      TableSweep::What::translated,
      [sessions](const engine::FlowEntry& entry) {
        if (sessions->is_orphan(entry)) return true;
        sessions->see(entry);
        return false;
      },
      [this](std::span<const engine::FlowEntry> found) { workers_.first().driver().remove_former_flows(found); },
      [this, sessions, revision = revision_] {
        if (revision == revision_ && !is_reloading()) forget_ranges(*sessions);
      });
}

/// Other gateways may have sessions that this one has none of, and die: so each is kept for a while whatever was found here.
void Node::forget_ranges(const FormerSessions& sessions) {
  NatConfig& nat = *config_.nat;
  const auto keep = std::chrono::duration_cast<std::chrono::milliseconds>(nat.keep_ranges).count();
  const std::vector<std::size_t> unused = sessions.unused(nat.former, wall_milliseconds() - keep);
  if (unused.empty()) return;
  RangesState next = ranges_;
  for (auto index = unused.rbegin(); index != unused.rend(); ++index)
    next.past.erase(next.past.begin() + static_cast<std::ptrdiff_t>(*index));
  if (auto done = save_ranges(config_.state_dir, next); !done) return log_error("state", done.error().to_string());
  ranges_ = std::move(next);
  set_former(nat, ranges_);
  reconfigure_engines(config_);
  ++revision_;
  renew_rules();
  runtime::log_info("ranges",
                    std::to_string(unused.size()) + " former configurations are forgotten: no session here needs them");
}

void Node::begin_watching() {
  const NodeDriver::Edges edges = workers_.first().edges();
  watch(edges.queue.descriptor(), [this] { workers_.first().driver().on_packets(); });
  watch(edges.messages.descriptor(), [this] { workers_.first().driver().on_messages(); });
  workers_.run(kFillInterval);
  if (reports_) watch(reports_->descriptor(), [this] { take_reports(); });
  loop().every(config_.recovery.unprotected_interval, [this] { sweep_marked(); });
  loop().every(kFillInterval, [this] { workers_.first().driver().check_table_fill(); });
  if (mappings_) mappings_->begin();
  loop().every(kFormerInterval, [this] { sweep_former(); });
  sweep_former();
  loop().every(kAddressInterval, [this] {
    for (const std::string& change : own_addresses_.look(config_.local_ips)) log_warning("local_ips", change);
  });
  sweep_untranslated();
  sweep_marked();
}

std::string Node::describe() const {
  const config::QueueConfig& q = config_.queue;
  const std::string what = config_.nat ? "translates for " + counted(config_.nat->names.size(), "network") + ", slice " +
                                             std::to_string(config_.nat->settings.slice)
                                       : "serves " + counted(config_.services.size(), "service");
  return what + ", queues " + std::to_string(q.base) + " to " + std::to_string(q.base + kQueuesPerWorker * q.workers - 1);
}

void Node::take_reports() {
  const TimePoint now = runtime::monotonic_now();
  const auto wall_ms = static_cast<std::uint64_t>(runtime::wall_clock_seconds() * 1000);
  for (const io::ReceivedMessage& each : reports_->receive()) loads_.on_report(now, wall_ms, each.from.address, each.octets);
}

/// All workers choose servers.
void Node::tell_load(const std::string& pool, const std::string& server, std::uint32_t load) {
  workers_.post(
      [pool, server, load](Worker& worker) { worker.engine().on_load(runtime::monotonic_now(), pool, server, load); });
}

LoadStatus Node::load_status() const {
  if (!reports_) return {};
  std::vector<HashKey> keys;
  for (const config::SecretKey& key : config_.load.keys) keys.push_back(key.value);
  return {runtime::keys_digest(keys), loads_.unknown(runtime::monotonic_now())};
}

/// Of all workers.
Measured Node::measured() const {
  std::optional<Measured> sum_of_all;
  workers_.call([&sum_of_all](Worker& worker) {
    const Measured own = node::measured(worker.engine(), worker.edges(), worker.driver().statistics());
    if (sum_of_all) {
      *sum_of_all += own;
    } else {
      sum_of_all = own;
    }
  });
  Measured& sum = *sum_of_all;
  append_health_counters(sum.counters, servers_->health().looks(), servers_->health().failed_looks());
  loads_.append_counters(sum.counters);
  if (mappings_) append_mapping_counters(sum.counters, mappings_->mappings().statistics());
  return sum;
}

std::vector<runtime::CounterLine> Node::counter_lines() const { return measured().counters; }

std::string Node::status_members() const {
  return mode_members(config_) + (mappings_ ? mapping_members(mappings_->mappings().statistics()) : "") +
         node::status_members(workers_.first().engine().options(), measured().gauges, workers_.first().edges().conntrack.fill(),
                              servers_->gauges(), load_status());
}

void Node::add_metrics(runtime::MetricsPage& page) const {
  node::add_metrics(page, measured(), workers_.first().engine().options(), digests_, workers_.first().edges().conntrack.fill(),
                    servers_->gauges(), load_status());
  if (mappings_) add_mapping_metrics(page, mappings_->mappings().statistics());
}

void Node::on_subscription(runtime::EventLog::LineSink sink) {
  workers_.set_line_sink(sink);
  events().set_line_sink(std::move(sink));
}

std::vector<std::string> Node::keep_fixed_settings(NodeConfig& next) const {
  std::vector<std::string> waiting;
  frame::keep_fixed(waiting, "node.port", next.port, config_.port);
  frame::keep_fixed(waiting, "node.state_dir", next.state_dir, config_.state_dir);
  frame::keep_fixed(waiting, "node.control_*", next.control, config_.control);
  frame::keep_fixed(waiting, "[queue]", next.queue, config_.queue);
  frame::keep_fixed(waiting, "load.enabled", next.load.enabled, config_.load.enabled);
  frame::keep_fixed(waiting, "load.port", next.load.port, config_.load.port);
  frame::keep_fixed(waiting, "[metrics]", next.metrics, config_.metrics);
  frame::keep_fixed(waiting, "[marks]", next.marks, config_.marks);
  frame::keep_fixed(waiting, "recovery.unprotected_interval", next.recovery.unprotected_interval,
                    config_.recovery.unprotected_interval);
  return waiting;
}

std::optional<frame::Daemon::Next> Node::read_next(const std::string& file, config::Problems& problems) {
  auto next = load_config(file, problems);
  if (!next) return std::nullopt;
  if (next->nat.has_value() != config_.nat.has_value()) {
    problems.list.push_back({file, 0, "networks", "a node changes its mode at a start only: restart it", false});
    return std::nullopt;
  }
  if (next->nat) set_former(*next->nat, next_ranges(ranges_, *next->nat, wall_milliseconds()));
  const NodeConfig wished = *next;
  auto waiting = keep_fixed_settings(*next);
  auto sets = all_rules(*next);
  const runtime::LogOptions log = next->log;
  auto texts = [this, next = *next, wished] { return Texts{print_config(config_), print_config(next), print_config(wished)}; };
  auto consequences = [now = config_, next = *next](runtime::LineSink& sink) { put_pool_moves(now, next, sink); };
  return Next{std::move(sets),
              log,
              [this, next = std::move(*next)] { return adopt(next); },
              std::move(waiting),
              std::move(texts),
              std::move(consequences)};
}

std::string Node::end(bool rules_removed) {
  if (!rules_removed) return "stopped; rules stay: known sessions go on, new ones wait (on_stop = \"keep\")";
  if (auto done = restore_sysctls(config_.state_dir); !done) log_error("stop", done.error().to_string());
  return "stopped; rules removed";
}

}  // namespace

std::unique_ptr<frame::Daemon> make_daemon(NodeConfig config, frame::Identity identity) {
  return std::make_unique<Node>(std::move(config), std::move(identity));
}

Result<Done, IoError> remove_everything(const std::optional<NodeConfig>& config) {
  // Held to the end: no daemon starts in the middle.
  const auto claim = runtime::Claim::take("asrpd-node", "remove rules");
  if (!claim) return Failure{claim.error()};
  std::set<std::string> state_dirs;
  if (config) state_dirs.insert(config->state_dir);
  for (const Family family : frame::rule_families()) {
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
