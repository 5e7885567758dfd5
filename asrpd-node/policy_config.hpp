// SPDX-License-Identifier: GPL-2.0-or-later
// The keys of a pool and its servers that say where new sessions go. Used by the configuration's reader, checker and printer.
#pragma once

#include <vector>

#include "asrp/engine/node_options.hpp"
#include "config/reader.hpp"
#include "config/writer.hpp"

namespace asrp::node {

/// A server's weight is 0 to this.
inline constexpr std::uint32_t kMostWeight = 65535;

struct PolicyConfig {
  policy::SelectionPolicy policy = policy::SelectionPolicy::hash;
  std::size_t ranks = 2;  // servers of each epoch in the query list: `ranks` of hash, `choices` of the other policies
  engine::AllDown all_down = engine::AllDown::first;
};

PolicyConfig read_policy(config::Reader& pool);
void read_server_policy(config::Reader& server, engine::Backend& out);
/// Warns of what the servers have and the policy doesn't go by.
void check_policy(const PolicyConfig& policy, const std::vector<engine::Backend>& servers, config::Reader& place);
void write_policy(config::Writer& out, const PolicyConfig& policy);
void write_server_policy(config::Writer& out, const engine::Backend& server);

}  // namespace asrp::node
