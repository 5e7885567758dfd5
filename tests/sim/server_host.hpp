// SPDX-License-Identifier: BSD-3-Clause
// One server: a HolderEngine in front of a small TCP stack and a UDP application, and what the rules do between them.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <unordered_map>

#include "sim/network.hpp"
#include "sim/packets.hpp"
#include "sim/plan.hpp"
#include "support/holder_twins.hpp"

namespace asrp::sim {

class ServerHost final : public Host, public engine::LocalSessions, public engine::EventSink {
 public:
  ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index, engine::Push push);

  void on_packet(Buffer packet) override;
  /// SIGKILL, and a new start after `away`.
  void kill_holder(Duration away);
  /// Notices of ended sessions get lost for a moment, as with a full socket buffer.
  void lose_notices();

  [[nodiscard]] const engine::HolderEngine* holder() const { return holder_.get(); }
  [[nodiscard]] std::size_t backups() const { return holder_ ? holder_->gauges().backups : 0; }
  /// Backups whose session has no socket and no flow here.
  [[nodiscard]] std::size_t outlived_backups();
  [[nodiscard]] std::size_t cut_off() const { return cut_off_; }

 private:
  struct Socket {
    MiniTcp tcp;
    std::optional<std::uint32_t> owner{};  // who sent the SYN
    std::uint32_t session = 0;             // once its first request is in
    bool knows_session = false;
    bool is_time_wait = false;
    Buffer request{};
    std::size_t request_offset = 0;   // in the stream
    std::size_t response_offset = 0;  // in the stream
    std::optional<TimePoint> armed{};
  };
  struct UdpFlow {
    TimePoint last{};
    bool replied = false;
    bool done_mark = false;
    bool is_watched = false;
    std::optional<std::uint32_t> session{};
  };
  struct Queued {
    Buffer packet;
    engine::Direction direction;
  };

  void look_up(std::span<const Tuple> sessions, std::span<engine::LocalState> states) override;
  void on_event(const engine::Event& event) override;
  void start_holder();
  void wake();
  void finish();
  void arm_holder();
  void take_inbound(const Buffer& packet, const packet::PacketView& view);
  void take_error(const packet::PacketView& view);
  void bypass(const packet::PacketView& view);
  void queue(engine::Direction direction, const Buffer& packet);
  void verdict(engine::Direction direction, const Buffer& original, engine::OutputKind kind, Octets octets, std::uint32_t mark);

  void note_refused(const Buffer& packet);
  void stack(const packet::PacketView& view);
  void stack_tcp(const packet::PacketView& view);
  void stack_udp(const packet::PacketView& view);
  void meet_socket(const packet::PacketView& view, const Socket& socket);
  void open_socket(const packet::PacketView& view);
  void refuse(const packet::PacketView& view);
  void application(const Tuple& peer, Socket& socket);
  bool take_request(const Tuple& peer, Socket& socket);
  void respond(const Tuple& peer, std::uint32_t session, std::uint32_t round, std::size_t size);
  void step(const Tuple& peer, Socket& socket, std::vector<Segment> segments);
  void end_socket(const Tuple& peer);
  void arm_socket(const Tuple& peer, Socket& socket);
  void watch_flow(const Tuple& peer);
  void note_session(const Tuple& peer, std::uint32_t id);
  /// The holder is away, or came back so lately that nodes may not know.
  [[nodiscard]] bool is_exposed() const { return !holder_ || agenda_.now() < exposed_until_; }
  [[nodiscard]] bool is_backed_up(const TuplePair& tuples) const;
  void send(Buffer packet);
  void notify_end(const Tuple& peer);

  Agenda& agenda_;
  Network& network_;
  Truth& truth_;
  SeededRandom& random_;
  std::size_t index_;
  engine::Push push_;
  test::MemoryStore store_;
  test::FixedPaths paths_;
  std::unique_ptr<engine::HolderEngine> holder_;
  std::uint64_t life_ = 0;
  bool loses_notices_ = false;
  TimePoint exposed_until_{};
  std::optional<TimePoint> armed_;
  std::vector<Queued> inbox_;
  std::deque<Queued> burst_;
  std::deque<std::pair<std::uint32_t, const Queued*>> waiting_;
  bool wake_scheduled_ = false;
  std::uint32_t next_number_ = 1;
  std::size_t cut_off_ = 0;                                     // connections that gave up
  std::unordered_map<Tuple, Socket, test::TupleHash> sockets_;  // by peer > this host
  std::unordered_map<Tuple, UdpFlow, test::TupleHash> flows_;
  std::unordered_map<Tuple, TuplePair, test::TupleHash> stored_;  // what the store holds, by server-side tuple
};

}  // namespace asrp::sim
