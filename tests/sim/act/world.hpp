// SPDX-License-Identifier: BSD-3-Clause
// A run in ACT mode: gateways, clients, outside servers, sessions and faults of a plan on virtual time, and the verdict over
// it.
#pragma once

#include <memory>
#include <vector>

#include "sim/act/client_host.hpp"
#include "sim/act/plan.hpp"
#include "sim/act/truth.hpp"
#include "sim/node_host.hpp"
#include "sim/outcome.hpp"
#include "sim/server_host.hpp"

namespace asrp::sim::act {

struct Result : Outcome {         // excused: packets astray, too
  std::size_t abandoned = 0;      // of clients that moved away
  std::size_t lost = 0;           // sessions lost although they had a backup; a problem unless excused
  std::size_t restored = 0;       // sessions restored by RS, all gateways
  std::size_t ports_twice = 0;    // outside port and server given to two sessions at once
  std::size_t given_again = 0;    // of them, by a gateway that came back without its table
  std::size_t clients_twice = 0;  // clients that this happened to
  std::size_t exhausted = 0;      // packets that found no free port, at gateways that are up at the end
};

class World {
 public:
  explicit World(const Plan& plan);
  Result run();

 private:
  void make_clients();
  void make_sessions();
  void place_session(Session& session, std::size_t number);
  void plan_faults();
  void begin(std::uint32_t id);
  void kill_gateway(std::size_t gateway);
  void move_client(std::size_t client);
  void take_address(std::size_t client, std::size_t index);
  void announce_gateways();
  void judge(Result& result);
  [[nodiscard]] Tuple path_key(Network::From from, const Tuple& tuple) const;
  [[nodiscard]] TimePoint within_faults();

  Plan plan_;
  SeededRandom random_;
  Agenda agenda_;
  ActTruth truth_;
  Network network_;
  ClientStacks stacks_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
  std::vector<std::unique_ptr<NodeHost>> gateways_;
  std::vector<std::unique_ptr<ServerHost>> servers_;
  std::unordered_set<IpAddress, AddressHash> by_client_;  // clients whose packets and answers take one gateway
  std::size_t next_index_;                                // of an address that nobody has had
  std::size_t restored_by_dead_ = 0;
};

}  // namespace asrp::sim::act
