// SPDX-License-Identifier: BSD-3-Clause
// All clients' stacks and applications, which know nothing of the protocol. Each session asks, waits for the answer, checks
// every octet of it. By themselves they are plain hosts; whoever puts something in front of them takes what they send.
#pragma once

#include <optional>
#include <unordered_map>

#include "sim/network.hpp"
#include "sim/packets.hpp"

namespace asrp::sim {

class Clients : public Host {
 public:
  Clients(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random)
      : agenda_(agenda), network_(network), truth_(truth), random_(random) {}

  void begin(std::uint32_t id);
  void on_packet(Buffer packet) override;
  [[nodiscard]] std::size_t done() const { return done_; }
  /// Its host is not there any more: nothing is sent, and what still comes belongs to nobody.
  void abandon(std::uint32_t id);
  /// The connection with this client-side tuple, if it is the last one that began there.
  [[nodiscard]] const MiniTcp* tcp_at(const Tuple& client_side) const;

 protected:
  virtual void send(Buffer packet) { network_.send(Network::From::client, std::move(packet)); }
  /// A connection is over at the client.
  virtual void on_end(const Session& /*session*/) {}

 private:
  struct Running {
    std::uint32_t id = 0;
    std::optional<MiniTcp> tcp{};
    std::uint32_t round = 0;          // that waits for its answer
    bool is_waiting = false;          // for an answer
    Buffer response{};                // octets so far
    std::size_t request_offset = 0;   // in the stream
    std::size_t response_offset = 0;  // in the stream
    std::optional<std::uint32_t> server{};
    std::optional<TimePoint> armed{};
    unsigned repeats = 0;  // UDP
    bool is_abandoned = false;
    bool has_ended = false;
  };

  void refuse(const packet::PacketView& view);
  void on_tcp(const packet::PacketView& view, Running& running);
  void on_error(const packet::PacketView& view);
  void on_udp(const packet::PacketView& view, Running& running);
  void application(Running& running);
  void answered(Running& running, std::uint32_t server);
  void ask(std::uint32_t id);
  void ask_udp(std::uint32_t id, std::uint32_t round);
  void step(Running& running, std::vector<Segment> segments);
  void arm(Running& running);
  void finish(Running& running);
  void succeed(std::uint32_t id);
  [[nodiscard]] Buffer request(const Session& session, const Running& running) const;
  Running* running_of(std::uint32_t id);
  static bool is_late_answer(const packet::PacketView& view, const MiniTcp& tcp);

  Agenda& agenda_;
  Network& network_;
  Truth& truth_;
  SeededRandom& random_;
  std::unordered_map<Tuple, Running, test::TupleHash> running_;  // by client-side tuple
  std::size_t done_ = 0;
};

}  // namespace asrp::sim
