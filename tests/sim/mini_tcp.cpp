// SPDX-License-Identifier: BSD-3-Clause
#include "sim/mini_tcp.hpp"

#include <algorithm>

namespace asrp::sim {
namespace {

constexpr std::uint32_t kSegmentSize = 500;
constexpr std::uint32_t kWindow = 4 * kSegmentSize;
constexpr std::uint32_t kPlausible = 1u << 20;  // no stream here is longer
constexpr Duration kFirstTimeout = std::chrono::milliseconds(200);
constexpr Duration kLongestTimeout = std::chrono::seconds(3);

}  // namespace

bool MiniTcp::is_plausible(const packet::PacketView& view) const {
  const std::uint8_t flags = view.tcp_flags();
  if ((flags & packet::kTcpAck) != 0 && view.tcp_acknowledgment() - isn_ > kPlausible) return false;
  if (state_ == TcpState::syn_sent) return true;
  return view.tcp_sequence() - peer_isn_ <= kPlausible;
}

MiniTcp::Fit MiniTcp::on_segment(TimePoint now, const packet::PacketView& view, std::vector<Segment>& out) {
  const std::uint8_t flags = view.tcp_flags();
  if (!is_plausible(view)) return Fit::foreign;
  if ((flags & packet::kTcpRst) != 0) {
    if (!is_over()) state_ = TcpState::reset;
    deadline_.reset();
    return Fit::fits;
  }
  if (state_ == TcpState::reset) return Fit::fits;
  if (state_ == TcpState::syn_sent) {
    if ((flags & packet::kTcpSyn) == 0 || (flags & packet::kTcpAck) == 0) return Fit::foreign;
    peer_isn_ = view.tcp_sequence();
    state_ = TcpState::established;
    retries_ = 0;
    deadline_.reset();
    acknowledge(out);
    push(now, out);
    return Fit::fits;
  }
  if ((flags & packet::kTcpSyn) != 0) {  // a repeated SYN or SYN/ACK
    if (state_ == TcpState::syn_received) {
      out.push_back({packet::kTcpSyn | packet::kTcpAck, isn_, peer_isn_ + 1, {}});
    } else {
      acknowledge(out);
    }
    return Fit::fits;
  }
  if (state_ == TcpState::syn_received) {
    if ((flags & packet::kTcpAck) == 0) return Fit::fits;
    state_ = TcpState::established;
    retries_ = 0;
    deadline_.reset();
  }
  take_acknowledgment(now, view.tcp_acknowledgment());
  if (take_data(view)) acknowledge(out);
  finish_if_done();
  push(now, out);
  return Fit::fits;
}

void MiniTcp::take_acknowledgment(TimePoint now, std::uint32_t acknowledgment) {
  const std::uint32_t position = acknowledgment - isn_ - 1;
  if (position > end_of_stream() + 1 || position <= acknowledged_) return;
  acknowledged_ = position;
  sent_ = std::max(sent_, position);
  retries_ = 0;
  deadline_.reset();
  if (acknowledged_ < sent_) arm(now);
}

/// True if the segment has to be acknowledged.
bool MiniTcp::take_data(const packet::PacketView& view) {
  const bool has_fin = (view.tcp_flags() & packet::kTcpFin) != 0;
  const Octets data = view.payload();
  if (data.empty() && !has_fin) return false;
  const std::uint32_t offset = next_expected() - view.tcp_sequence();  // octets of it that are here already
  if (peer_fin_ || offset > data.size()) return true;                  // old, or behind a gap
  const Octets fresh = data.subspan(offset);
  received_.insert(received_.end(), fresh.begin(), fresh.end());
  received_count_ += static_cast<std::uint32_t>(fresh.size());
  peer_fin_ = has_fin;
  return true;
}

void MiniTcp::send_from(std::uint32_t position, std::vector<Segment>& out) {
  const std::uint32_t limit = std::min(end_of_stream(), acknowledged_ + kWindow);
  while (position < limit) {
    const std::uint32_t size = std::min(kSegmentSize, limit - position);
    const auto from = to_send_.begin() + position;
    out.push_back({packet::kTcpAck | packet::kTcpPsh, sequence_of(position), next_expected(), Buffer(from, from + size)});
    position += size;
  }
  if (wants_fin_ && position == end_of_stream()) {
    out.push_back({packet::kTcpAck | packet::kTcpFin, sequence_of(position), next_expected(), {}});
    ++position;
  }
  sent_ = std::max(sent_, position);
}

void MiniTcp::push(TimePoint now, std::vector<Segment>& out) {
  if (state_ == TcpState::syn_sent || state_ == TcpState::syn_received) {
    if (syn_out_) return;
    syn_out_ = true;
    const bool answers = state_ == TcpState::syn_received;
    out.push_back({static_cast<std::uint8_t>(answers ? packet::kTcpSyn | packet::kTcpAck : packet::kTcpSyn),
                   isn_,
                   answers ? peer_isn_ + 1 : 0,
                   {}});
    arm(now);
    return;
  }
  if (state_ != TcpState::established) return;
  const std::uint32_t before = sent_;
  send_from(sent_, out);
  if (sent_ != before && !deadline_) arm(now);
}

void MiniTcp::on_time(TimePoint now, std::vector<Segment>& out) {
  if (!deadline_ || *deadline_ > now) return;
  deadline_.reset();
  if (is_over()) return;
  ++retries_;
  if (state_ == TcpState::established) {
    if (acknowledged_ >= sent_) return;
    send_from(acknowledged_, out);
    arm(now);
    return;
  }
  syn_out_ = false;
  push(now, out);
}

void MiniTcp::arm(TimePoint now) { deadline_ = now + std::min(kLongestTimeout, kFirstTimeout * (1 << std::min(retries_, 6u))); }

void MiniTcp::finish_if_done() {
  if (state_ == TcpState::established && peer_fin_ && fin_is_acknowledged()) {
    state_ = TcpState::closed;
    deadline_.reset();
  }
}

}  // namespace asrp::sim
