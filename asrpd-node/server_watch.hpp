// SPDX-License-Identifier: GPL-2.0-or-later
// What a node holds of each server besides the configuration: is it well (the
// health board), has the operator taken it out. From both follows what the
// engines are told. Main thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "asrp/engine/node_engine.hpp"
#include "asrpd-node/drain.hpp"
#include "asrpd-node/health_board.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::node {

class ServerWatch {
 public:
  /// Tells all engines.
  using Tell = std::function<void(const std::string& pool, const std::string& server, engine::ServerState state)>;
  /// What the engine has seen of the holder at this address.
  using Sight = std::function<engine::HolderSight(const IpAddress& host)>;
  /// The deadlines of these drains are over; told once.
  using Overdue = std::function<void(const Drains& overdue)>;

  /// `loop` and `random` must outlive the object.
  ServerWatch(runtime::EventLoop& loop, RandomSource& random, Sight sight, Tell tell, Overdue overdue);
  ~ServerWatch();

  /// At the start and after each reload, when the engines have `config`.
  /// Forgets the drains of servers that have gone.
  void configure(const NodeConfig& config);
  /// From now on these; tells what that changes.
  void set_drains(Drains drains);
  [[nodiscard]] const Drains& drains() const { return drains_; }
  /// Something says that a server's host may be in trouble.
  void on_hint(const IpAddress& host);

  [[nodiscard]] engine::ServerState state(const std::string& pool, const std::string& server) const;
  [[nodiscard]] const HealthBoard& health() const { return board_; }
  /// Servers that new sessions don't go to, by reason.
  struct Gauges {
    std::size_t down = 0;
    std::size_t drained = 0;
  };
  [[nodiscard]] Gauges gauges() const;

 private:
  void update(const std::string& pool, const std::string& server);
  void on_health(const HealthBoard::Line& line);
  void arm();
  void arm_deadline();
  void on_deadline();
  [[nodiscard]] bool is_told_overdue(const Drains::Server* server, const Drain& drain) const;

  runtime::EventLoop& loop_;
  Tell tell_;
  Overdue overdue_;
  std::unique_ptr<io::Prober> tcp_, http_, command_, asrp_;
  HealthBoard board_;
  Drains drains_;
  std::map<Drains::Server, engine::ServerState> told_;  // what isn't `usable`
  runtime::EventLoop::TimerId timer_ = 0;
  runtime::EventLoop::TimerId deadline_timer_ = 0;
  Drains told_overdue_;  // of which it has been told that they are over
};

}  // namespace asrp::node
