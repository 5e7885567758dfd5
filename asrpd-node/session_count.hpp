// SPDX-License-Identifier: GPL-2.0-or-later
// How many sessions a node's table has at each server: what is left of a drained one.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/node_options.hpp"

namespace asrp::node {

class SessionCount {
 public:
  /// Those of these services alone, and of clients in these networks (ACT mode).
  explicit SessionCount(const std::vector<engine::Service>& services, std::vector<Prefix> clients = {});

  /// Counts an entry, unless it is none of a service, or its session is over and the kernel merely remembers it.
  void add(const engine::FlowEntry& entry);
  [[nodiscard]] std::uint64_t all() const { return all_; }
  /// At a server of a pool.
  [[nodiscard]] std::uint64_t at(const std::string& pool, const Endpoint& server) const;

 private:
  std::map<std::pair<Endpoint, Protocol>, std::string> pools_;  // by the service's address
  std::map<std::pair<std::string, Endpoint>, std::uint64_t> counts_;
  std::vector<Prefix> clients_;
  std::uint64_t all_ = 0;
};

}  // namespace asrp::node
