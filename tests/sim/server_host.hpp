// SPDX-License-Identifier: BSD-3-Clause
// One server: a small TCP stack and a UDP application. In PSV mode a holder is in front of it; behind gateways, on the outside,
// it knows nothing of the protocol and must never see any of it.
#pragma once

#include "sim/holder_host.hpp"
#include "sim/plan.hpp"

namespace asrp::sim {

class ServerHost final : public HolderHost {
 public:
  /// With a holder.
  ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index, engine::Push push);
  /// Without.
  ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index);

  void on_packet(Buffer packet) override;
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

  [[nodiscard]] engine::HolderOptions holder_options() const override;
  [[nodiscard]] engine::LocalState tcp_state(const Tuple& peer) const override;
  [[nodiscard]] bool is_queued(const packet::PacketView& outgoing) const override;
  [[nodiscard]] Tuple inbound(const TuplePair& session) const override { return session.server_side; }
  void on_refused(const Buffer& packet) override;
  void on_holder_killed() override;
  void on_outgoing_mark(const packet::PacketView& outgoing, bool done) override;

  void check_outside(const Buffer& packet);
  void stack(const packet::PacketView& view) override;
  void take_error(const packet::PacketView& view);
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
  void note_session(const Tuple& peer, std::uint32_t id);

  std::size_t index_;
  std::optional<engine::Push> push_;                            // nothing: no holder
  std::size_t cut_off_ = 0;                                     // connections that gave up
  std::unordered_map<Tuple, Socket, test::TupleHash> sockets_;  // by peer > this host
};

}  // namespace asrp::sim
