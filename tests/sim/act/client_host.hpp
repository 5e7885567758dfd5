// SPDX-License-Identifier: BSD-3-Clause
// One client behind gateways: a HolderEngine, or none, between its stack and the network. The stacks and applications of all
// clients are ClientStacks; this is what is below.
#pragma once

#include <vector>

#include "sim/act/plan.hpp"
#include "sim/clients.hpp"
#include "sim/holder_host.hpp"

namespace asrp::sim::act {

class ClientHost final : public HolderHost {
 public:
  struct Settings {
    std::size_t index = 0;  // of its addresses
    bool has_holder = true;
    bool answers_queries = true;
  };
  ClientHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, Clients& stacks, Settings settings);

  /// A packet of its stack.
  void leave(Buffer packet);
  /// A connection of its stack is over.
  void on_end(const Session& session);
  /// It roams: other addresses, another route.
  void move(std::size_t index);
  [[nodiscard]] std::size_t index() const { return settings_.index; }
  [[nodiscard]] bool has_holder() const { return settings_.has_holder; }

  void on_packet(Buffer packet) override;

 private:
  [[nodiscard]] engine::HolderOptions holder_options() const override;
  [[nodiscard]] engine::LocalState tcp_state(const Tuple& peer) const override;
  [[nodiscard]] bool is_queued(const packet::PacketView& outgoing) const override;
  [[nodiscard]] Tuple inbound(const TuplePair& session) const override { return session.client_side.reversed(); }
  void stack(const packet::PacketView& view) override;
  void on_holder_killed() override;
  void on_outgoing_mark(const packet::PacketView& outgoing, bool done) override;
  void sweep_when_proven();

  Clients& stacks_;
  Settings settings_;
  std::uint64_t proven_ = 0;                                         // routes so far, as the holder counted them
  std::unordered_map<Tuple, TimePoint, test::TupleHash> time_wait_;  // until when, by peer > this host
};

/// All clients' stacks, each behind its host.
class ClientStacks final : public Clients {
 public:
  using Clients::Clients;
  void attach(const IpAddress& address, ClientHost& host) { hosts_[address] = &host; }

 private:
  void send(Buffer packet) override;
  void on_end(const Session& session) override;

  std::unordered_map<IpAddress, ClientHost*, AddressHash> hosts_;  // who had an address last
};

}  // namespace asrp::sim::act
