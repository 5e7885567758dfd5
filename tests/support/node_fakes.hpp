// SPDX-License-Identifier: BSD-3-Clause
// What a NodeEngine needs around it, without a kernel: session table, route MTUs, randomness, event sink. And the options that
// most tests begin with.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "asrp/base/random.hpp"
#include "asrp/engine/event.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/node_options.hpp"
#include "asrp/policy/nat_port.hpp"
#include "support/builders.hpp"

namespace asrp::test {

/// A session table with conntrack's rules: neither a tuple of the new session may be there already, in either orientation.
class FakeFlowTable final : public engine::FlowTable {
 public:
  void install(std::span<const engine::Flow> flows, std::span<engine::InstallResult> results) override {
    ++batches;
    for (std::size_t i = 0; i < flows.size(); ++i) results[i] = install_one(flows[i]);
  }
  std::optional<engine::FlowEntry> find(const Tuple& tuple) override {
    ++finds;
    for (const auto& entry : entries) {
      const TuplePair& pair = entry.tuples;
      if (pair.client_side == tuple || pair.client_side.reversed() == tuple || pair.server_side == tuple ||
          pair.server_side.reversed() == tuple) {
        return entry;
      }
    }
    return std::nullopt;
  }
  void remove(const Tuple& client_side) override {
    std::erase_if(entries, [&](const auto& e) { return e.tuples.client_side == client_side; });
    std::erase_if(installed, [&](const auto& f) { return f.tuples.client_side == client_side; });
  }
  void set_mark(const Tuple& client_side, engine::FlowMark mark) override {
    for (auto& entry : entries) {
      if (entry.tuples.client_side == client_side) entry.mark = mark;
    }
  }

  std::optional<Endpoint> outside_of(Protocol protocol, const Endpoint& inside) override {
    for (const auto& e : entries) {
      if (e.tuples.client_side.protocol == protocol && e.tuples.client_side.src == inside) return e.tuples.server_side.src;
    }
    return std::nullopt;
  }
  std::optional<Endpoint> inside_of(Protocol protocol, const Endpoint& outside) override {
    for (const auto& e : entries) {
      if (e.tuples.server_side.protocol == protocol && e.tuples.server_side.src == outside) return e.tuples.client_side.src;
    }
    return std::nullopt;
  }
  bool has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) override {
    return std::any_of(entries.begin(), entries.end(), [&](const auto& e) {
      const Tuple& side = e.tuples.server_side;
      return side.protocol == protocol && side.src == outside && side.dst.address == host;
    });
  }

  /// An entry that is there without the engine's doing.
  void add(const TuplePair& pair, engine::FlowMark mark = engine::FlowMark::none, bool closing = false) {
    entries.push_back({pair, mark, closing});
  }
  [[nodiscard]] const engine::FlowEntry* entry(const Tuple& client_side) const {
    for (const auto& e : entries) {
      if (e.tuples.client_side == client_side) return &e;
    }
    return nullptr;
  }

  std::vector<engine::FlowEntry> entries;
  std::vector<engine::Flow> installed;
  std::size_t capacity = 1000000;
  bool failing = false;
  int batches = 0;
  int finds = 0;

 private:
  engine::InstallResult install_one(const engine::Flow& flow) {
    if (failing) return engine::InstallResult::failed;
    for (const auto& e : entries) {
      for (const Tuple& mine : {flow.tuples.client_side, flow.tuples.server_side}) {
        // A session that translates nothing has the same tuple on both sides; what counts is what others have.
        for (const Tuple& theirs : {e.tuples.client_side, e.tuples.server_side}) {
          if (normalised(mine) == normalised(theirs)) return engine::InstallResult::exists;
        }
      }
    }
    if (entries.size() >= capacity) return engine::InstallResult::full;
    entries.push_back({flow.tuples, flow.mark, false});
    installed.push_back(flow);
    return engine::InstallResult::ok;
  }
};

class FakePaths final : public engine::Paths {
 public:
  std::size_t mtu_towards(const IpAddress& destination) override {
    const auto it = mtus.find(destination);
    return it == mtus.end() ? 1500 : it->second;
  }
  std::map<IpAddress, std::size_t> mtus;
};

/// The same numbers for the same seed.
class FakeRandom final : public RandomSource {
 public:
  explicit FakeRandom(std::uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  void fill(MutableOctets out) override {
    for (std::uint8_t& octet : out) {
      state_ ^= state_ << 13;
      state_ ^= state_ >> 7;
      state_ ^= state_ << 17;
      octet = static_cast<std::uint8_t>(state_ >> 32);
    }
  }

 private:
  std::uint64_t state_;
};

class EventLog final : public engine::EventSink {
 public:
  void on_event(const engine::Event& event) override { all.push_back(event); }
  [[nodiscard]] std::size_t count(engine::EventKind kind) const {
    std::size_t n = 0;
    for (const engine::Event& e : all) n += e.kind == kind;
    return n;
  }
  void clear() { all.clear(); }
  std::vector<engine::Event> all;
};

inline HashKey key_of(std::uint8_t octet) {
  HashKey key;
  key.fill(octet);
  return key;
}

inline engine::Backend backend(std::string id, std::string_view address_and_port) {
  engine::Backend b;
  b.id = std::move(id);
  b.address = endpoint(address_and_port);
  return b;
}

/// One TCP service 198.51.100.1:80 on four servers 10.0.0.1 to 10.0.0.4, port 8080, and the same for IPv6; `nat`, asymmetric.
inline engine::NodeOptions basic_options() {
  engine::NodeOptions options;
  options.local_ips = {address("192.0.2.10"), address("2001:db8:10::10")};
  options.placement_key = key_of(0x11);
  options.cookie_keys.sign = key_of(0x22);
  engine::Service web;
  web.name = "web";
  web.address = endpoint("198.51.100.1:80");
  engine::Service web6 = web;
  web6.name = "web6";
  web6.address = endpoint("[2001:db8:1::1]:80");
  for (int i = 1; i <= 4; ++i) {
    const std::string n = std::to_string(i);
    web.backends.push_back(backend("s" + n, "10.0.0." + n + ":8080"));
    web6.backends.push_back(backend("s" + n, "[2001:db8:2::" + n + "]:8080"));
  }
  options.services = {web, web6};
  return options;
}

/// The first service turned into full NAT behind 10.1.0.1, ports 1024 to 65535.
inline engine::NodeOptions full_nat_options() {
  engine::NodeOptions options = basic_options();
  options.services[0].forward = engine::ForwardMode::full_nat;
  options.services[0].full_nat.addresses = {address("10.1.0.1")};
  options.services[1].forward = engine::ForwardMode::full_nat;
  options.services[1].full_nat.addresses = {address("2001:db8:3::1")};
  return options;
}

/// The mapping at the `attempt`-th try of a flow to the first service of `full_nat_options()`.
inline Endpoint mapping_of(const Tuple& client_side, std::size_t attempt) {
  const engine::NodeOptions options = full_nat_options();
  const auto& range = options.services[0].full_nat;
  return policy::NatRange(options.placement_key, range.addresses, range.first_port, range.last_port).at(client_side, attempt);
}

/// The services of basic_options() for UDP, port 53.
inline engine::NodeOptions udp_options(engine::ExplicitFirst explicit_first = engine::ExplicitFirst::none) {
  engine::NodeOptions options = basic_options();
  for (engine::Service& service : options.services) {
    service.protocol = Protocol::udp;
    service.address.port = 53;
    service.explicit_first = explicit_first;
    for (engine::Backend& b : service.backends) b.address.port = 5353;
  }
  return options;
}

/// ACT mode for clients 10.0.0.0/24 and fd00:1::/120 behind 203.0.113.8/30 and 2001:db8:ff::/122, 1024 ports each: 10.0.0.1 has
/// 203.0.113.8:2048-3071. This gateway has slice 3 of 16, 64 ports: 2240-2303 of that.
inline engine::NodeOptions nat_options() {
  engine::NodeOptions options;
  options.local_ips = {address("192.0.2.10"), address("2001:db8:10::10")};
  options.placement_key = key_of(0x11);
  options.cookie_keys.sign = key_of(0x22);
  options.limits.clients = 1u << 10;
  engine::NatOptions& nat = options.nat.emplace();
  const auto prefix = [](std::string_view text) { return *Prefix::parse(text); };
  policy::ClientNetwork office;
  office.clients = {prefix("10.0.0.0/24")};
  office.outside = {prefix("203.0.113.8/30")};
  policy::ClientNetwork six;
  six.clients = {prefix("fd00:1::/120")};
  six.outside = {prefix("2001:db8:ff::/122")};
  nat.ranges.networks = {office, six};
  nat.slice = 3;
  return options;
}

}  // namespace asrp::test
