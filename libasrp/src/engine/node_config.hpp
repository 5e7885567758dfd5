// SPDX-License-Identifier: BSD-3-Clause
// NodeOptions made ready for look-ups per packet: services by address, servers by address, placement, rules of legitimacy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "asrp/engine/node_options.hpp"
#include "asrp/policy/cookie_policy.hpp"
#include "asrp/policy/legitimacy.hpp"
#include "asrp/policy/nat_port.hpp"
#include "asrp/policy/query_list.hpp"

namespace asrp::engine {

struct ServiceState {
  explicit ServiceState(const Service& service, const HashKey& placement_key);

  const Service* options;
  policy::Pool pool;
  policy::ServiceRule rule;
  std::optional<TimePoint> changed_at;  // when this node saw the newest epoch begin (decision 14)
};

/// A server of a service.
struct ServerRef {
  std::uint16_t service = 0;
  std::uint16_t backend = 0;
};

class NodeConfig {
 public:
  explicit NodeConfig(NodeOptions options);
  NodeConfig(const NodeConfig&) = delete;
  NodeConfig& operator=(const NodeConfig&) = delete;

  [[nodiscard]] const NodeOptions& options() const { return options_; }
  [[nodiscard]] const policy::CookiePolicy& cookies() const { return cookies_; }
  [[nodiscard]] std::span<ServiceState> services() { return services_; }
  [[nodiscard]] const ServiceState& service(std::uint16_t index) const { return services_[index]; }

  /// The service that clients reach at `address`, or nothing.
  [[nodiscard]] const ServiceState* service_at(const Endpoint& address, Protocol protocol) const;
  /// The service that `session` belongs to, if the cluster may have such a session (draft 5); or nothing.
  [[nodiscard]] const ServiceState* service_of(const TuplePair& session) const;
  /// The service and server that a packet from a server belongs to: its source is the server's address and port and, for full
  /// NAT, its destination is in the range (decision 2). Disabled servers belong to nothing.
  [[nodiscard]] std::optional<ServerRef> server_of(const Tuple& from_server) const;
  /// This node's address of a family.
  [[nodiscard]] const IpAddress* local_ip(Family family) const;
  [[nodiscard]] bool is_local(const IpAddress& address) const;

 private:
  struct Key {
    Endpoint endpoint;
    Protocol protocol;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  NodeOptions options_;
  policy::CookiePolicy cookies_;
  std::vector<ServiceState> services_;
  std::unordered_map<Key, std::uint16_t, KeyHash> by_address_;
  std::unordered_map<Key, std::vector<ServerRef>, KeyHash> by_server_;
};

}  // namespace asrp::engine
