// SPDX-License-Identifier: GPL-2.0-or-later
// The node's configuration file: TOML in, plain structs out, all problems at once. `asrpd.toml.5` explains every key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/engine/node_options.hpp"
#include "asrpd-node/health_config.hpp"
#include "asrpd-node/nat_config.hpp"
#include "asrpd-node/policy_config.hpp"
#include "config/common.hpp"

namespace asrp::node {

inline constexpr unsigned kQueuesPerWorker = 3;  // one for each tap
inline constexpr unsigned kMostWorkers = 64;

struct CookieKeyConfig {
  config::SecretKey key;
  bool sign = false;  // else accept: keys of a rotation in progress
};

/// Reports of how busy servers are (decision 29); how long one counts is `recovery.load_age`.
struct LoadConfig {
  bool enabled = false;
  std::uint16_t port = 51201;
  std::vector<config::SecretKey> keys;  // any of them will do
};

struct PastEpochConfig {
  std::vector<policy::EpochMember> members;
  std::optional<config::SecretKey> placement_key;  // none: today's
};

struct PoolConfig {
  std::string name;
  PolicyConfig policy;
  std::vector<engine::Backend> servers;
  std::vector<PastEpochConfig> past_epochs;  // newest first
  std::optional<HealthConfig> health;        // none: its servers are not checked
};

struct ServiceConfig {
  engine::Service settings;  // without backends, ranks and epochs, which the pool has
  std::string pool;
};

struct MarksConfig {
  std::uint32_t waiting = 0x10000000;      // connection mark: NS not yet acknowledged
  std::uint32_t unprotected = 0x20000000;  // connection mark: no backup
  std::uint32_t admitted = 0x08000000;     // packet mark: the raw tap has decided about this one
  std::uint32_t flow = 0x40000000;         // packet mark: an injected packet of a flow
  std::uint32_t own = 0x80000000;          // packet mark: a packet of the daemon's own
  friend bool operator==(const MarksConfig&, const MarksConfig&) = default;
};

struct TimeoutsConfig {
  std::optional<Duration> tcp_established;          // none: by what the backends have (decision 4)
  Duration udp = std::chrono::seconds(60);          // unreplied (decision 19)
  Duration udp_stream = std::chrono::seconds(180);  // replied
  Duration dns = std::chrono::seconds(10);          // ACT mode (decision 19)
  Duration icmp = kNatLeastIcmp;                    // ACT mode: echo
};

struct NodeConfig {
  std::vector<IpAddress> local_ips;
  std::uint16_t port = kDefaultPort;
  std::string state_dir = "/var/lib/asrp";
  runtime::ControlPlace control{.path = "/run/asrp/node.sock"};
  config::OnStop on_stop = config::OnStop::keep;
  config::SecretKey placement_key;
  std::vector<CookieKeyConfig> cookie_keys;
  config::QueueConfig queue;
  MarksConfig marks;
  packet::Marker option;
  TimeoutsConfig timeouts;
  engine::NodeTiming recovery;
  engine::NodeLimits limits;
  runtime::LogOptions log;
  LoadConfig load;
  config::MetricsConfig metrics{.listen = {IpAddress::v4(0x7f000001), 9151}};
  // Either services, or networks of clients.
  std::vector<PoolConfig> pools;
  std::vector<ServiceConfig> services;
  std::optional<NatConfig> nat;  // ACT mode

  [[nodiscard]] const PoolConfig* pool(std::string_view name) const;
  /// The value in force: what is configured, else 600 s where every backend has a holder, and 7440 s where one has none and in
  /// ACT mode.
  [[nodiscard]] Duration tcp_established() const;
  /// Families that any service or network has.
  [[nodiscard]] bool has_family(Family family) const;
};

/// The words of the configuration for them.
std::string_view name_of(engine::BackendState state);
std::string_view name_of(engine::HolderPresence holder);

/// Reads and checks a file. No value if there is an error; `problems` has it, and the warnings in any case.
std::optional<NodeConfig> load_config(const std::string& file, config::Problems& problems);
/// The same from text; `file` names it in messages.
std::optional<NodeConfig> parse_config(std::string_view text, const std::string& file, config::Problems& problems);
/// The effective configuration as TOML that reads back the same. It contains the keys that stand in the file.
std::string print_config(const NodeConfig& config);

/// What the engine is told. `past` of each pool, newest first, goes in front of the configured past epochs.
struct PoolHistory {
  std::string pool;
  std::vector<policy::Epoch> past;
};
engine::NodeOptions to_options(const NodeConfig& config, const std::vector<PoolHistory>& history);
/// A pool's epoch of today: its active servers.
policy::Epoch current_epoch(const NodeConfig& config, const PoolConfig& pool);
/// Adds the epochs of the configuration that are not known yet, each in front of the one that is next older there: a node that
/// was away when one of them was in force has the order of the others.
void add_configured_epochs(const NodeConfig& config, const PoolConfig& pool, std::vector<policy::Epoch>& known);

}  // namespace asrp::node
