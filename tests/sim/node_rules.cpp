// SPDX-License-Identifier: BSD-3-Clause
#include "sim/node_rules.hpp"

#include <algorithm>

#include "asrp/policy/port_ranges.hpp"

namespace asrp::sim {
namespace {

constexpr unsigned kSynAck = packet::kTcpSyn | packet::kTcpAck;

/// PSV mode: what is addressed to a service, and what its servers send (decision 2).
class ServiceRules final : public NodeRules {
 public:
  explicit ServiceRules(const engine::NodeOptions& options) : options_(options) {}

  [[nodiscard]] bool takes_first(const packet::PacketView& view, bool has_option) const override {
    if (!view.is_tcp()) return false;
    if (is_to_service(view.tuple())) return view.is_tcp_syn();
    return has_option && (view.tcp_flags() & kSynAck) == kSynAck && is_of_server(view.tuple());
  }

  [[nodiscard]] bool takes_stray(const packet::PacketView& view) const override {
    return is_to_service(view.tuple()) || is_of_server(view.tuple());
  }

 private:
  [[nodiscard]] bool is_to_service(const Tuple& tuple) const {
    return std::any_of(options_.services.begin(), options_.services.end(),
                       [&](const engine::Service& s) { return s.protocol == tuple.protocol && s.address == tuple.dst; });
  }
  [[nodiscard]] bool is_of_server(const Tuple& tuple) const {
    for (const engine::Service& s : options_.services) {
      if (s.protocol != tuple.protocol) continue;
      for (const engine::Backend& backend : s.backends) {
        if (backend.address != tuple.src) continue;
        if (s.forward == engine::ForwardMode::nat) return true;
        const auto& own = s.full_nat.addresses;
        if (std::find(own.begin(), own.end(), tuple.dst.address) != own.end()) return true;
      }
    }
    return false;
  }

  const engine::NodeOptions& options_;
};

/// ACT mode: what clients send, and what comes to their outside endpoints; nobody connects from outside.
class GatewayRules final : public NodeRules {
 public:
  explicit GatewayRules(const engine::NodeOptions& options) : ranges_(options.nat->ranges) {}

  [[nodiscard]] bool takes_first(const packet::PacketView& view, bool /*has_option*/) const override {
    return view.is_tcp_syn() && is_client(view.tuple().src.address);
  }
  [[nodiscard]] bool takes_stray(const packet::PacketView& view) const override {
    if (is_client(view.tuple().src.address)) return true;
    return ranges_.client_of(view.tuple().dst) && !view.is_tcp_syn();
  }

 private:
  [[nodiscard]] bool is_client(const IpAddress& address) const { return ranges_.range_of(address).has_value(); }

  policy::PortRanges ranges_;
};

}  // namespace

std::unique_ptr<NodeRules> NodeRules::of(const engine::NodeOptions& options) {
  if (options.nat) return std::make_unique<GatewayRules>(options);
  return std::make_unique<ServiceRules>(options);
}

}  // namespace asrp::sim
