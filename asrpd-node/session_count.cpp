// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/session_count.hpp"

#include <algorithm>

namespace asrp::node {

SessionCount::SessionCount(const std::vector<engine::Service>& services, std::vector<Prefix> clients)
    : clients_(std::move(clients)) {
  for (const engine::Service& service : services) pools_.emplace(std::pair(service.address, service.protocol), service.pool);
}

void SessionCount::add(const engine::FlowEntry& entry) {
  const Tuple& client_side = entry.tuples.client_side;
  const auto pool = pools_.find({client_side.dst, client_side.protocol});
  if (entry.closing) return;
  if (pool == pools_.end()) {
    const auto holds = [&](const Prefix& clients) { return clients.contains(client_side.src.address); };
    all_ += std::any_of(clients_.begin(), clients_.end(), holds) ? 1 : 0;
    return;
  }
  ++all_;
  ++counts_[{pool->second, entry.tuples.server_side.dst}];
}

std::uint64_t SessionCount::at(const std::string& pool, const Endpoint& server) const {
  const auto found = counts_.find({pool, server});
  return found == counts_.end() ? 0 : found->second;
}

}  // namespace asrp::node
