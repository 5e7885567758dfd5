// SPDX-License-Identifier: BSD-3-Clause
// Twins of the edges that asrpd-common/io/testing does not have: the session table, the host's sessions and addresses; and all
// that a node or a holder has around its engine.
#pragma once

#include <atomic>
#include <vector>

#include "asrpd-holder/holder_driver.hpp"
#include "asrpd-node/node_driver.hpp"
#include "io/conntrack.hpp"
#include "io/local_sessions.hpp"
#include "io/testing/memory_edges.hpp"
#include "support/holder_twins.hpp"
#include "support/node_fakes.hpp"

namespace asrp::test {

class MemoryConntrack final : public io::Conntrack {
 public:
  void install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) override {
    table.install(flows, results);
  }
  std::optional<engine::FlowEntry> find(const Tuple& tuple) override {
    for (const engine::FlowEntry& entry : untranslated)
      if (entry.tuples.client_side == tuple) return entry;
    return table.find(tuple);
  }
  void remove(const Tuple& client_side) override {
    table.remove(client_side);
    std::erase_if(untranslated, [&](const engine::FlowEntry& e) { return e.tuples.client_side == client_side; });
  }
  void set_mark(const Tuple& client_side, engine::FlowMark mark) override { table.set_mark(client_side, mark); }
  void for_each_marked(const std::function<void(const engine::FlowEntry&)>& visit) override {
    for (const engine::FlowEntry& entry : table.entries)
      if (entry.mark != engine::FlowMark::none && !visits_ended_) visit(entry);
  }
  bool for_each(const std::function<void(const engine::FlowEntry&)>& visit) override {
    for (const engine::FlowEntry& entry : table.entries)
      if (!visits_ended_) visit(entry);
    return !visits_ended_;
  }
  void for_each_detail(const std::function<void(const Detail&)>& visit) override {
    for (const Detail& each : details)
      if (!visits_ended_) visit(each);
  }
  void for_each_untranslated(const std::function<void(const engine::FlowEntry&)>& visit) override {
    for (const engine::FlowEntry& entry : untranslated)
      if (!visits_ended_) visit(entry);
  }
  void end_visits() override { visits_ended_ = true; }
  [[nodiscard]] Fill fill() const override { return now; }
  [[nodiscard]] Statistics statistics() const override { return {}; }

  FakeFlowTable table;
  std::vector<engine::FlowEntry> untranslated;
  std::vector<Detail> details;
  Fill now;

 private:
  std::atomic<bool> visits_ended_ = false;
};

class MemorySessions final : public io::HostSessions {
 public:
  void look_up(std::span<const Tuple> sessions, std::span<engine::LocalState> states) override {
    known.look_up(sessions, states);
  }
  [[nodiscard]] std::span<const int> descriptors() const override { return {}; }
  Notices drain() override {
    told_ = std::exchange(ended, {});
    return {told_, std::exchange(lost, false)};
  }

  FakeSessions known;
  std::vector<Tuple> ended;
  bool lost = false;

 private:
  std::vector<Tuple> told_;
};

class MemoryAddresses final : public io::LocalAddresses {
 public:
  [[nodiscard]] int descriptor() const override { return -1; }
  std::span<const IpAddress> refresh() override { return addresses; }
  std::vector<IpAddress> addresses;
};

/// Routes that change when they are read: `next` becomes what the engine goes by.
class MemoryRoutes final : public io::RoutePaths {
 public:
  std::size_t mtu_towards(const IpAddress&) override { return mtu; }
  std::uint32_t route_of(const IpAddress&, const IpAddress&) override { return route_; }
  Result<Done, io::IoError> watch() override { return Done{}; }
  [[nodiscard]] int descriptor() const override { return -1; }
  void refresh() override { route_ = next; }
  std::size_t mtu = 1500;
  std::uint32_t next = 1;

 private:
  std::uint32_t route_ = 1;
};

class MemoryFlows final : public io::MarkedFlows {
 public:
  [[nodiscard]] int descriptor() const override { return -1; }
  void begin() override { ++begun; }
  std::span<const Tuple> next() override { return flows; }
  void clear(std::span<const Tuple> some) override { cleared.insert(cleared.end(), some.begin(), some.end()); }
  unsigned begun = 0;
  std::vector<Tuple> flows, cleared;
};

/// What both daemons' packets and messages go through.
struct PacketTwins {
  io::testing::Order order;
  io::testing::MemoryPacketQueue queue{order};
  io::testing::MemoryPacketSender sender{order};
  io::testing::MemoryMessageSocket messages;
};

struct NodeTwins : PacketTwins {
  [[nodiscard]] node::NodeDriver::Edges edges() { return {queue, sender, messages, conntrack}; }

  MemoryConntrack conntrack;
  FakePaths paths;
  FakeRandom random;
  EventLog events;
};

struct HolderTwins : PacketTwins {
  [[nodiscard]] holder::HolderDriver::Edges edges() {
    return {queue, sender, messages, sessions, addresses, &paths, &done_flows};
  }

  MemorySessions sessions;
  MemoryAddresses addresses;
  MemoryStore store;
  MemoryRoutes paths;
  MemoryFlows done_flows;
  SeededRandom random{1};
  HolderEvents events;
};

}  // namespace asrp::test
