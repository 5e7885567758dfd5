// SPDX-License-Identifier: BSD-3-Clause
// A run: hosts, sessions and faults of a plan on virtual time, and the verdict over it.
#pragma once

#include <memory>
#include <vector>

#include "sim/clients.hpp"
#include "sim/node_host.hpp"
#include "sim/outcome.hpp"
#include "sim/plan.hpp"
#include "sim/server_host.hpp"

namespace asrp::sim {

struct Result : Outcome {
  std::size_t moved = 0;         // sessions restored by RS or PS, all nodes
  std::size_t outside_list = 0;  // sessions at servers outside of the query list, of nodes that are up at the end
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
