// SPDX-License-Identifier: BSD-3-Clause
// As much of TCP as a recovery can break: sequence numbers, acknowledgments, retransmission, FIN. One end of one connection.
// Strict where a real stack is lenient: a segment that can't be this connection's is reported, not ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "asrp/base/bytes.hpp"
#include "asrp/base/time.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::sim {

struct Segment {
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  Buffer data;
};

enum class TcpState : std::uint8_t { syn_sent, syn_received, established, closed, reset };

class MiniTcp {
 public:
  enum class Fit : std::uint8_t { fits, foreign };  // foreign: another session's segment

  static MiniTcp connect(std::uint32_t isn) { return MiniTcp(isn, TcpState::syn_sent); }
  static MiniTcp accept(std::uint32_t isn, std::uint32_t peer_isn) {
    MiniTcp end(isn, TcpState::syn_received);
    end.peer_isn_ = peer_isn;
    return end;
  }

  /// Takes a segment; what is to be sent is appended to `out`.
  Fit on_segment(TimePoint now, const packet::PacketView& view, std::vector<Segment>& out);
  /// What is due by the clock.
  void on_time(TimePoint now, std::vector<Segment>& out);
  /// What can be sent now: the SYN, data that was written, the FIN.
  void push(TimePoint now, std::vector<Segment>& out);

  void write(Octets data) { to_send_.insert(to_send_.end(), data.begin(), data.end()); }
  void close() { wants_fin_ = true; }
  /// Octets received in order since the last call.
  Buffer take() { return std::exchange(received_, {}); }

  [[nodiscard]] TcpState state() const { return state_; }
  [[nodiscard]] std::optional<TimePoint> next_time() const { return deadline_; }
  [[nodiscard]] std::uint32_t isn() const { return isn_; }
  [[nodiscard]] std::uint32_t peer_isn() const { return peer_isn_; }
  [[nodiscard]] bool peer_has_closed() const { return peer_fin_; }
  [[nodiscard]] bool fin_is_acknowledged() const { return wants_fin_ && acknowledged_ == end_of_stream() + 1; }
  /// Both directions are done.
  [[nodiscard]] bool is_over() const { return state_ == TcpState::closed || state_ == TcpState::reset; }
  [[nodiscard]] unsigned retransmissions() const { return retries_; }

 private:
  MiniTcp(std::uint32_t isn, TcpState state) : isn_(isn), state_(state) {}

  // Positions are octets of the stream; the FIN is the octet behind its end.
  [[nodiscard]] std::uint32_t end_of_stream() const { return static_cast<std::uint32_t>(to_send_.size()); }
  [[nodiscard]] std::uint32_t sequence_of(std::uint32_t position) const { return isn_ + 1 + position; }
  [[nodiscard]] std::uint32_t next_expected() const { return peer_isn_ + 1 + received_count_ + (peer_fin_ ? 1 : 0); }
  [[nodiscard]] bool is_plausible(const packet::PacketView& view) const;
  void take_acknowledgment(TimePoint now, std::uint32_t acknowledgment);
  bool take_data(const packet::PacketView& view);
  void send_from(std::uint32_t position, std::vector<Segment>& out);
  void acknowledge(std::vector<Segment>& out) { out.push_back({packet::kTcpAck, sequence_of(sent_), next_expected(), {}}); }
  void arm(TimePoint now);
  void finish_if_done();

  std::uint32_t isn_;
  std::uint32_t peer_isn_ = 0;
  TcpState state_;
  Buffer to_send_;
  Buffer received_;
  std::uint32_t received_count_ = 0;
  std::uint32_t acknowledged_ = 0;  // position up to which the peer has all
  std::uint32_t sent_ = 0;          // position up to which all was sent once
  bool wants_fin_ = false;
  bool peer_fin_ = false;
  bool syn_out_ = false;
  unsigned retries_ = 0;
  std::optional<TimePoint> deadline_;
};

}  // namespace asrp::sim
