// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: several gateways with nothing in common but their configuration, and clients that keep what NS tell them. Any
// gateway takes over any session, and no two sessions ever share an outside port towards one server (decision 25).
#include <array>
#include <map>
#include <memory>
#include <random>

#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

/// Gateways of one cluster, and the holders of all clients.
class Office {
 public:
  explicit Office(bool own_slices) {
    for (unsigned i = 0; i < 3; ++i) {
      auto options = nat_options();
      options.nat->slice = own_slices ? i : 0;
      options.nat->ranges.networks[0].ports_per_client = 256;  // 16 in each slice
      gateways_.push_back(std::make_unique<NodeScript>(std::move(options)));
    }
  }

  /// A SYN and the HS behind it, through one gateway. The outside endpoint; nothing if there is no port.
  std::optional<Endpoint> connect(std::size_t gateway, const Tuple& flow) {
    const Buffer syn = tcp(flow).syn().build();
    NodeScript& g = *gateways_[gateway];
    if (kinds(g.packet(Tap::first, syn)) != "accept") return std::nullopt;
    for (const Datagram& ns : datagrams(g.packet(Tap::first, with_inline(syn, hello(Protocol::tcp, 7))), MsgType::NS)) {
      CHECK(ns.message.cookie.value == 7);
      backups_[flow.to_string()] = ns.message.tuples();
    }
    return backups_.at(flow.to_string()).server_side.src;
  }

  /// A segment of the client, or of the server, through one gateway. Where it goes on, in the session that the table has then.
  std::optional<TuplePair> pass(std::size_t gateway, const Tuple& flow, bool from_server) {
    NodeScript& g = *gateways_[gateway];
    const TuplePair session = backups_.at(flow.to_string());
    const Tuple tuple = from_server ? session.server_side.reversed() : flow;
    if (g.flows.find(tuple)) return g.flows.find(tuple)->tuples;  // the kernel translates it
    const auto outs = g.packet(Tap::stray, tcp(tuple).push().payload("x").build());
    const Datagram query = only_query(outs);
    CHECK(query.to.address == flow.src.address);
    const bool goes_on = kinds(answer(g, query, rs_to(query, session))) == "send_flow";
    return goes_on ? std::optional(g.flows.find(tuple)->tuples) : std::nullopt;
  }

  /// Its memory and its table are gone.
  void lose(std::size_t gateway) { gateways_[gateway] = std::make_unique<NodeScript>(gateways_[gateway]->engine.options()); }

  [[nodiscard]] const std::map<std::string, TuplePair>& backups() const { return backups_; }
  NodeScript& gateway(std::size_t i) { return *gateways_[i]; }

 private:
  std::vector<std::unique_ptr<NodeScript>> gateways_;
  std::map<std::string, TuplePair> backups_;
};

Tuple flow(std::uint16_t port) { return {{address("10.0.0.1"), port}, endpoint(kFar), Protocol::tcp}; }

/// How many of a client's connections to one server, spread over the gateways, got a port that another one has.
int shared_ports(Office& office, std::uint16_t connections) {
  std::map<Endpoint, int> uses;
  for (std::uint16_t port = 1; port <= connections; ++port) {
    const auto outside = office.connect(port % 3, flow(port));
    REQUIRE(outside);
    ++uses[*outside];
  }
  int shared = 0;
  for (const auto& [outside, count] : uses) shared += count - 1;
  return shared;
}

}  // namespace

TEST_CASE("ACT: gateways with slices of their own never give an outside port twice; with one slice they do (decision 25)") {
  Office office(true);
  CHECK(shared_ports(office, 48) == 0);  // all that there are
  Office careless(false);
  CHECK(shared_ports(careless, 24) > 0);
}

TEST_CASE("ACT: whatever gateway a session was made at, any other one takes it over, and from either side") {
  Office office(true);
  for (std::uint16_t port = 1; port <= 12; ++port) office.connect(port % 3, flow(port));
  office.lose(0);
  office.lose(1);
  office.lose(2);
  for (std::uint16_t port = 1; port <= 12; ++port) {
    for (const bool from_server : {true, false}) {
      const std::size_t gateway = (port + (from_server ? 1u : 2u)) % 3;
      CHECK(office.pass(gateway, flow(port), from_server) == office.backups().at(flow(port).to_string()));
    }
  }
}

TEST_CASE("ACT: a thousand steps of connections, deaths and detours") {
  Office office(true);
  std::mt19937 random(5);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint16_t>(random() % n); };
  std::uint16_t next = 1;
  std::size_t restored = 0;
  std::array<bool, 3> was_lost{};
  for (int step = 0; step < 1000; ++step) {
    const std::size_t gateway = below(3);
    const auto what = below(20);
    if (what == 0) {
      restored += office.gateway(gateway).counter(NodeCounter::sessions_restored_rs);
      office.lose(gateway);
      was_lost[gateway] = true;
    } else if (what < 8 && next <= 40 && !was_lost[gateway]) {  // it would not know which ports its former sessions have
      office.connect(gateway, flow(next));
      next = static_cast<std::uint16_t>(next + 1);
    } else if (next > 1) {
      const Tuple some = flow(static_cast<std::uint16_t>(1 + below(next - 1u)));
      if (!office.backups().contains(some.to_string())) continue;  // it got no port
      CHECK(office.pass(gateway, some, below(2) == 0) == office.backups().at(some.to_string()));
    }
  }
  CHECK(restored > 100);
  std::set<Endpoint> outside;
  for (const auto& [name, session] : office.backups()) CHECK(outside.insert(session.server_side.src).second);
}
