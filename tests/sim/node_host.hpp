// SPDX-License-Identifier: BSD-3-Clause
// One node of either mode: a NodeEngine, the kernel's session table, and what the rules (node_rules.hpp) do between them.
// Checks what must hold for any node.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "asrp/engine/node_engine.hpp"
#include "sim/foretold.hpp"
#include "sim/network.hpp"
#include "sim/node_rules.hpp"
#include "sim/packets.hpp"
#include "support/kernel_flows.hpp"

namespace asrp::sim {

class NodeHost final : public Host, public engine::EventSink {
 public:
  NodeHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::uint64_t number_of_it);

  void start(engine::NodeOptions options);
  /// The host dies: engine and table are gone.
  void die();
  /// Only the daemon ends and begins again; the kernel goes on.
  void restart_daemon();
  void flush_table() {
    flows_.clear();
    ++table_life_;
  }
  void reconfigure(engine::NodeOptions options);
  /// What this node is told of a server; others may be told something else.
  void set_state(const std::string& pool, const std::string& server, engine::ServerState state);
  void tell_load(const std::string& pool, const std::string& server, std::uint32_t load);
  [[nodiscard]] bool is_up() const { return engine_ != nullptr; }

  void on_packet(Buffer packet) override;

  [[nodiscard]] const engine::NodeEngine* engine() const { return engine_.get(); }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }
  [[nodiscard]] std::size_t restored() const;
  /// Packets of which explain() was asked before the engine got them.
  [[nodiscard]] std::size_t foretold() const { return foretold_.checked(); }
  [[nodiscard]] std::size_t events() const { return events_; }
  /// In flight in the engine; all of it must be gone when all is quiet.
  void check_idle();

 private:
  struct Waiting {
    std::uint32_t number;
    engine::Tap tap;
    const Buffer* packet;
  };

  void on_event(const engine::Event& event) override {
    ++events_;
    if (event.kind != engine::EventKind::session_created) return;
    acknowledged_.erase(event.flow);  // another session begins
    truth_.created(event.session, {number, table_life_});
    foretold_.on_created(event.flow, event.session);
  }
  void wake();
  void finish();
  void take(const Buffer& packet);
  void take_tracked(const Buffer& packet, const packet::PacketView& view);
  void take_again();
  void tell_unreachable(const packet::PacketView& view);
  void queue(engine::Tap tap, const Buffer& packet);
  void verdict(const Waiting& waiting, engine::OutputKind kind, Octets octets);
  void forward(Octets packet, bool decrement_ttl);
  void watch_messages(Octets packet);
  void schedule_wake(Duration delay);
  void sweep_later();
  void sweep_marked();
  void arm();

  Agenda& agenda_;
  Network& network_;
  Truth& truth_;
  Foretold foretold_;
  SeededRandom& random_;
  engine::NodeOptions options_;
  std::unique_ptr<NodeRules> rules_;
  test::KernelFlows flows_;
  test::FixedPaths paths_;
  std::unique_ptr<engine::NodeEngine> engine_;
  std::uint64_t life_ = 0;        // of the engine: timers of an older one mean nothing
  std::uint64_t table_life_ = 0;  // of the kernel's table
  std::vector<Buffer> inbox_;
  std::deque<Buffer> burst_;
  std::deque<Waiting> waiting_;
  std::vector<Buffer> again_;  // accepted at the raw tap without a session
  bool wake_scheduled_ = false;
  std::optional<TimePoint> armed_;
  std::uint32_t next_number_ = 1;
  std::size_t events_ = 0;
  std::unordered_set<Tuple, test::TupleHash> acknowledged_;  // client-side tuples for which this engine got an NA
  std::unordered_set<Tuple, test::TupleHash> beginning_;     // those of SYNs that this burst has brought
};

}  // namespace asrp::sim
