// SPDX-License-Identifier: GPL-2.0-or-later
// [pools.health]: how a pool's servers are checked. Part of config.hpp.
#pragma once

#include <string_view>

#include "asrp/engine/node_options.hpp"
#include "asrp/policy/server_health.hpp"
#include "config/reader.hpp"
#include "config/writer.hpp"
#include "io/probe.hpp"

namespace asrp::node {

enum class HealthCheck : std::uint8_t { tcp, http, command, asrp };
std::string_view to_string(HealthCheck check);

struct HealthConfig {
  HealthCheck check = HealthCheck::tcp;
  policy::HealthOptions rule;
  io::ProbeQuestion question;
  std::uint16_t port = 0;  // tcp, http, command: 0 is the server's own
  friend bool operator==(const HealthConfig&, const HealthConfig&) = default;
};

/// Reads the table, whose place is `reader`. Keys of another check than the one chosen are problems.
HealthConfig read_health(config::Reader reader);
/// What only the servers show.
void check_health(const HealthConfig& health, const std::vector<engine::Backend>& servers, config::Reader& pool);
void write_health(config::Writer& out, const HealthConfig& health);

}  // namespace asrp::node
