// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/daemon.hpp"

#include <set>

#include "asrpd-node/flow_rules.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/rules.hpp"
#include "asrpd-node/state.hpp"
#include "asrpd-node/status.hpp"
#include "asrpd-node/sysctls.hpp"
#include "asrpd-node/table_sweep.hpp"
#include "frame/packet_edges.hpp"
#include "runtime/clock.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using io::IoError;
using runtime::log_error;
using runtime::log_warning;

constexpr Duration kFillInterval = std::chrono::seconds(1);
constexpr unsigned kQueues = 3;

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

class Node final : public frame::Daemon {
 public:
  Node(NodeConfig config, frame::Identity identity) : Daemon(std::move(identity)), config_(std::move(config)) {}
  ~Node() override { unwatch(); }

 protected:
  [[nodiscard]] Settings settings() const override { return {config_.control_socket, config_.log, config_.on_stop}; }
  Outcome open_edges() override;
  RuleSets rules() override { return all_rules(config_); }
  Outcome begin() override;
  void begin_watching() override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::string activity() const override { return "serving"; }
  [[nodiscard]] std::optional<TimePoint> next_timeout() const override { return engine_->next_timeout(); }
  void on_timer() override { driver_->on_timer(); }
  void on_rules_repaired() override { sweep_untranslated(); }
  std::optional<Next> read_next(const std::string& file, config::Problems& problems) override;
  [[nodiscard]] std::vector<runtime::CounterLine> counter_lines() const override {
    return node::counter_lines(*engine_, edges(), driver_->statistics());
  }
  [[nodiscard]] std::string status_members() const override { return node::status_members(*engine_, edges()); }
  std::string end(bool rules_removed) override;

 private:
  Outcome adopt(const NodeConfig& next);
  Outcome prepare_host(const NodeConfig& config);
  void keep_fixed_settings(NodeConfig& next) const;
  void sweep_marked();
  void sweep_untranslated();
  void sweep_orphans(const std::vector<engine::Service>& before);
  [[nodiscard]] NodeDriver::Edges edges() const { return {*edges_.queue, *edges_.sender, *edges_.messages, *conntrack_}; }

  NodeConfig config_;
  State state_;
  runtime::SystemRandom random_;
  frame::PacketEdges edges_;
  std::unique_ptr<io::Conntrack> conntrack_;
  std::unique_ptr<TableSweep> sweep_;
  std::optional<engine::NodeEngine> engine_;
  std::optional<NodeDriver> driver_;
};

frame::Daemon::Outcome Node::open_edges() {
  if (config_.has_family(Family::v6))
    if (auto trouble = ipv6_trouble()) return Failure{std::move(*trouble)};
  const MarksConfig& marks = config_.marks;
  auto edges =
      frame::PacketEdges::open({config_.queue, kQueues, false, {marks.flow, marks.own}, config_.port, io::PeerErrors::watch});
  if (!edges) return Failure{edges.error()};
  edges_ = std::move(*edges);
  std::unique_ptr<io::Conntrack> swept;
  for (std::unique_ptr<io::Conntrack>* each : {&conntrack_, &swept}) {
    auto conntrack = io::Conntrack::open({marks.waiting, marks.unprotected, 30});
    if (!conntrack) return Failure{conntrack.error()};
    *each = std::move(*conntrack);
  }
  sweep_ = TableSweep::open(loop(), std::move(swept));
  return Done{};
}

frame::Daemon::Outcome Node::begin() {
  std::string trouble;
  state_ = load_state(config_.state_dir, trouble);
  if (!trouble.empty()) log_error("state", trouble);
  if (auto done = prepare_host(config_); !done) return done;
  const MarksConfig& marks = config_.marks;
  engine_.emplace(engine_options(config_, state_), *conntrack_, *edges_.paths, random_, events());
  driver_.emplace(*engine_, edges(), DriverOptions{config_.queue.base, marks.admitted, marks.flow, marks.own},
                  runtime::monotonic_now);
  for (const std::string& problem : forwarding_problems(config_)) log_warning("forwarding", problem);
  return Done{};
}

/// State file and sysctls for `config`, whose rules are in place.
frame::Daemon::Outcome Node::prepare_host(const NodeConfig& config) {
  State next = next_state(state_, config);
  if (next != state_) {
    if (auto done = save_state(config.state_dir, next); !done) return done;
    state_ = std::move(next);
  }
  return apply_sysctls(config);
}

frame::Daemon::Outcome Node::adopt(const NodeConfig& next) {
  if (auto done = prepare_host(next); !done) return done;
  const TimePoint now = runtime::monotonic_now();
  const std::vector<engine::Service> before = engine_->options().services;
  engine_->reconfigure(now, engine_options(next, state_));
  driver_->finish(now);
  config_ = next;
  sweep_orphans(before);
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

void Node::begin_watching() {
  watch(edges_.queue->descriptor(), [this] { driver_->on_packets(); });
  watch(edges_.messages->descriptor(), [this] { driver_->on_messages(); });
  loop().every(config_.recovery.unprotected_interval, [this] { sweep_marked(); });
  loop().every(kFillInterval, [this] { driver_->check_table_fill(); });
  sweep_untranslated();
  sweep_marked();
}

std::string Node::describe() const {
  return "serves " + std::to_string(config_.services.size()) + " services, queues " + std::to_string(config_.queue.base) +
         " to " + std::to_string(config_.queue.base + kQueues - 1);
}

void Node::keep_fixed_settings(NodeConfig& next) const {
  frame::keep_fixed("node.port", next.port, config_.port);
  frame::keep_fixed("node.state_dir", next.state_dir, config_.state_dir);
  frame::keep_fixed("node.control_socket", next.control_socket, config_.control_socket);
  frame::keep_fixed("[queue]", next.queue, config_.queue);
  frame::keep_fixed("[marks]", next.marks, config_.marks);
  frame::keep_fixed("recovery.unprotected_interval", next.recovery.unprotected_interval, config_.recovery.unprotected_interval);
}

std::optional<frame::Daemon::Next> Node::read_next(const std::string& file, config::Problems& problems) {
  auto next = load_config(file, problems);
  if (!next) return std::nullopt;
  keep_fixed_settings(*next);
  auto sets = all_rules(*next);
  const runtime::LogOptions log = next->log;
  return Next{std::move(sets), log, [this, next = std::move(*next)] { return adopt(next); }};
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
