// SPDX-License-Identifier: BSD-3-Clause
// A run: hosts, sessions and faults of a plan on virtual time, and the verdict over it.
#pragma once

#include <memory>
#include <vector>

#include "sim/clients.hpp"
#include "sim/node_host.hpp"
#include "sim/plan.hpp"
#include "sim/server_host.hpp"

namespace asrp::sim {

struct Result {
  std::vector<std::string> problems;  // of all kinds, the first few
  std::size_t problem_count = 0;
  std::size_t done = 0;
  std::size_t without_backup = 0;  // sessions that never had one
  std::size_t excused = 0;         // sessions lost to what Truth excuses
  std::size_t moved = 0;           // sessions restored by RS or PS, all nodes
  std::size_t events = 0;          // of the agenda
  std::size_t foretold = 0;        // packets of which explain() was right
  std::size_t outside_list = 0;    // sessions at servers outside of the query list, of nodes that are up at the end
  std::size_t errors = 0;          // ICMP errors that came to whom they speak to
};

class World {
 public:
  explicit World(const Plan& plan);
  Result run();

 private:
  void make_sessions();
  void plan_faults();
  void kill_node(std::size_t node);
  void change_pool();
  void plan_opinions();
  void announce_nodes();
  void judge(Result& result);
  [[nodiscard]] TimePoint within_faults();

  Plan plan_;
  SeededRandom random_;
  Agenda agenda_;
  Truth truth_;
  Network network_;
  Clients clients_;
  std::vector<std::unique_ptr<NodeHost>> nodes_;
  std::vector<std::unique_ptr<ServerHost>> servers_;
  Pool pool_;
  std::vector<Pool> past_;
  std::size_t restored_by_dead_ = 0;
};

}  // namespace asrp::sim
