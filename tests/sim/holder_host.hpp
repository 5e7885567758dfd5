// SPDX-License-Identifier: BSD-3-Clause
// A host with a HolderEngine: the holder's rules and queues, its store, and what the kernel tells it of sessions. What the host
// is besides, a server of the cluster or a client behind gateways, says who derives from this.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "sim/network.hpp"
#include "sim/packets.hpp"
#include "support/holder_twins.hpp"

namespace asrp::sim {

class HolderHost : public Host, public engine::LocalSessions, public engine::EventSink {
 public:
  void on_packet(Buffer packet) override;
  /// SIGKILL, and a new start after `away`.
  void kill_holder(Duration away);
  /// Notices of ended sessions get lost for a moment, as with a full socket buffer.
  void lose_notices();

  [[nodiscard]] const engine::HolderEngine* holder() const { return holder_.get(); }
  [[nodiscard]] std::size_t backups() const { return holder_ ? holder_->gauges().backups : 0; }
  /// Backups whose session has no socket and no flow here.
  [[nodiscard]] std::size_t outlived_backups();

 protected:
  /// conntrack's record of a UDP flow.
  struct UdpFlow {
    TimePoint last{};
    bool replied = false;  // here for a server, from there for a client
    bool is_watched = false;
    std::optional<std::uint32_t> session{};
  };

  HolderHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, Network::From side)
      : agenda_(agenda), network_(network), truth_(truth), random_(random), side_(side) {
    place = side;
  }

  // What kind of host it is.
  [[nodiscard]] virtual engine::HolderOptions holder_options() const = 0;
  /// A packet for the host's stack.
  virtual void stack(const packet::PacketView& view) = 0;
  [[nodiscard]] virtual engine::LocalState tcp_state(const Tuple& peer) const = 0;
  /// The rules of the outgoing queue.
  [[nodiscard]] virtual bool is_queued(const packet::PacketView& outgoing) const = 0;
  /// The session's tuple at this host: peer, then this host.
  [[nodiscard]] virtual Tuple inbound(const TuplePair& session) const = 0;
  virtual void on_refused(const Buffer& /*packet*/) {}
  virtual void on_holder_killed() {}
  virtual void on_outgoing_mark(const packet::PacketView& /*outgoing*/, bool /*done*/) {}

  void start_holder();
  /// A packet of the host's own: through the outgoing queue if the rules say so.
  void send(Buffer packet);
  void finish();
  /// The local session with `peer` has ended, and the kernel says so.
  void notify_end(const Tuple& peer);
  /// A datagram of the flow passed.
  UdpFlow& touch_flow(const Tuple& peer, bool replied);
  /// The holder is away, or came back so lately that nodes may not know.
  [[nodiscard]] bool is_exposed() const { return !holder_ || agenda_.now() < exposed_until_; }
  [[nodiscard]] bool has_backup(const Tuple& peer) const { return stored_.contains(peer); }
  /// connmark: the flow needs the outgoing queue no more.
  [[nodiscard]] bool is_done(const Tuple& peer) const { return done_.contains(peer); }

  Agenda& agenda_;
  Network& network_;
  Truth& truth_;
  SeededRandom& random_;
  test::FixedPaths paths_;
  std::unique_ptr<engine::HolderEngine> holder_;
  std::unordered_map<Tuple, UdpFlow, test::TupleHash> flows_;  // by peer > this host
  std::unordered_set<Tuple, test::TupleHash> done_;            // by peer > this host

 private:
  struct Queued {
    Buffer packet;
    engine::Direction direction;
  };

  void look_up(std::span<const Tuple> sessions, std::span<engine::LocalState> states) override;
  void on_event(const engine::Event& event) override;
  void wake();
  void wake_in(Duration delay);
  void arm_holder();
  void take_inbound(const Buffer& packet, const packet::PacketView& view);
  void bypass(const packet::PacketView& view);
  void queue(engine::Direction direction, const Buffer& packet);
  void verdict(engine::Direction direction, const Buffer& original, engine::OutputKind kind, Octets octets, std::uint32_t mark);
  void watch_flow(const Tuple& peer);

  Network::From side_;
  test::MemoryStore store_;
  test::MemoryStore act_store_;
  std::uint64_t life_ = 0;
  bool loses_notices_ = false;
  TimePoint exposed_until_{};
  std::optional<TimePoint> armed_;
  std::vector<Queued> inbox_;
  std::deque<Queued> burst_;
  std::deque<std::pair<std::uint32_t, const Queued*>> waiting_;
  bool wake_scheduled_ = false;
  std::uint32_t next_number_ = 1;
  std::unordered_map<Tuple, TuplePair, test::TupleHash> stored_;  // what the store holds, by peer > this host
};

}  // namespace asrp::sim
