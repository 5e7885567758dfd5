// SPDX-License-Identifier: BSD-3-Clause
// NodeOptions made ready for look-ups per packet: services by address, servers by address, placement, rules of legitimacy.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "asrp/engine/node_engine.hpp"
#include "asrp/engine/node_options.hpp"
#include "asrp/policy/act_rule.hpp"
#include "asrp/policy/cookie_policy.hpp"
#include "asrp/policy/legitimacy.hpp"
#include "asrp/policy/member_selection.hpp"
#include "asrp/policy/nat_port.hpp"
#include "asrp/policy/port_choice.hpp"
#include "asrp/policy/port_ranges.hpp"
#include "asrp/policy/query_list.hpp"

namespace asrp::engine {

struct ServiceState {
  ServiceState(const Service& service, const HashKey& placement_key);

  /// Sets what a server may have from now on.
  void set_state(std::uint16_t backend, ServerState state);
  /// The server of that name, or nothing.
  [[nodiscard]] std::optional<std::uint16_t> backend_of(std::string_view id) const;
  /// Whether checks hold for down whatever is served at that host.
  [[nodiscard]] bool is_down(const IpAddress& host) const;
  /// The server at that address, or nothing.
  [[nodiscard]] std::optional<std::uint16_t> backend_at(const Endpoint& address) const;

  const Service* options;
  policy::Pool pool;
  policy::ServiceRule rule;
  std::optional<TimePoint> changed_at;  // when this node saw the newest epoch begin (decision 14)

  // What health checks and the operator say, and with `selector` all that changes while the configuration stays.
  std::vector<ServerState> states;
  /// Servers that the current epoch ranks and that may have new sessions, a flag for each; and how many there are.
  std::vector<std::uint8_t> usable;
  std::size_t usable_count = 0;
  /// Those that the operator has not taken out, for when none is usable.
  std::vector<std::uint8_t> undrained;
  /// Chooses among a flow's first ranks. Nothing until the engine has given it one: its turns and loads outlive the
  /// configuration.
  std::unique_ptr<policy::MemberSelector> selector;

 private:
  std::vector<std::uint16_t> by_id_;
  std::vector<std::uint16_t> by_address_;
};

/// A server of a service.
struct ServerRef {
  std::uint16_t service = 0;
  std::uint16_t backend = 0;
};

/// What a packet's tuple belongs to, and who sends it.
struct Side {
  enum class Kind : std::uint8_t {
    none,        // nothing here
    client,      // a client of `service`
    server,      // server `backend` of `service`
    act_client,  // a client of our networks, which has `range` outside, or a former client with a TCP session of that time
    act_server,  // from outside, to the outside endpoint of `client`
  };
  Kind kind = Kind::none;
  const ServiceState* service = nullptr;
  std::uint16_t backend = 0;
  policy::PortRange range;
  IpAddress client;

  [[nodiscard]] bool is_clients() const { return kind == Kind::client || kind == Kind::act_client; }
  [[nodiscard]] bool is_servers() const { return kind == Kind::server || kind == Kind::act_server; }
  [[nodiscard]] bool is_act() const { return kind == Kind::act_client || kind == Kind::act_server; }
};

/// ACT mode: the clients' ranges, and the choice of ports in them.
struct NatState {
  NatState(const NatOptions& nat, const NodeOptions& node);

  [[nodiscard]] bool is_untranslated(const IpAddress& destination) const;
  [[nodiscard]] policy::PortUse use_of(Protocol protocol) const;
  /// Whose outside endpoint that is or was; nothing if nobody's.
  [[nodiscard]] std::optional<IpAddress> client_of(const Endpoint& outside) const;
  /// Whether it is an outside address, somebody's or not. Looks at all that is configured: not for each packet.
  [[nodiscard]] bool is_outside(const IpAddress& address) const;
  /// Whether that address is of a client, or was of one.
  [[nodiscard]] bool knows_client(const IpAddress& address) const;

  const NatOptions* options;
  policy::PortRanges ranges;
  std::vector<policy::PortRanges> past;  // newest first
  policy::PortChoice choice;
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
  /// ACT mode; nullptr if it is off.
  [[nodiscard]] const NatState* nat() const { return nat_ ? &*nat_ : nullptr; }

  /// The service that clients reach at `address`, or nothing.
  [[nodiscard]] const ServiceState* service_at(const Endpoint& address, Protocol protocol) const;
  /// The service and server that a packet from a server belongs to: its source is the server's address and port and, for full
  /// NAT, its destination is in the range (decision 2). Disabled servers belong to nothing.
  [[nodiscard]] std::optional<ServerRef> server_of(const Tuple& from_server) const;

  // node_side.cpp: what both modes know of tuples and sessions.

  [[nodiscard]] Side side_of(const Tuple& packet) const;
  /// Whether the cluster may have such a session at all (draft 5).
  [[nodiscard]] bool may_exist(const TuplePair& session) const;
  /// Whether it is one of ACT mode. Precondition: may_exist().
  [[nodiscard]] bool is_act(const TuplePair& session) const;
  /// The host whose holder keeps the backup of `session`.
  [[nodiscard]] const IpAddress& holder_of(const TuplePair& session) const;
  /// Whether one holder knows both: where they contradict each other, its word counts.
  [[nodiscard]] bool same_holder(const TuplePair& one, const TuplePair& other) const;

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
  std::optional<NatState> nat_;
  std::unordered_map<Key, std::uint16_t, KeyHash> by_address_;
  std::unordered_map<Key, std::vector<ServerRef>, KeyHash> by_server_;
};

}  // namespace asrp::engine
