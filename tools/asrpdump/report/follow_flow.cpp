// SPDX-License-Identifier: BSD-3-Clause
// Follower: packets of the sessions' flows, on both sides of the node.
#include <algorithm>

#include "report/follow.hpp"

namespace asrp::dump {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEarly = 2 * kSecond;  // how long before its session is known a packet can have come

bool same_data(const Before& before, const Seen& seen) {
  const bool comparable = before.digest != 0 && seen.digest != 0;
  return before.data == seen.data && before.tcp_flags == seen.tcp_flags && (!comparable || before.digest == seen.digest);
}

bool same_packet(const Before& before, const Seen& seen) {
  return same_data(before, seen) && before.seq == seen.seq && before.ack == seen.ack;
}

}  // namespace

bool begins_anew(const Session& session, const Seen& seen) {
  if (!seen.is_syn() || !session.isn || *session.isn == seen.seq) return false;
  if (seen.tuple == session.tuples.client_side) return true;
  if (seen.tuple != session.tuples.server_side || !session.waiting) return seen.tuple == session.tuples.server_side;
  for (const Before& before : (*session.waiting)[0].packets) {
    if (before.waits && (before.tcp_flags & packet::kTcpSyn) != 0) return false;
  }
  return true;
}

void Follower::flow(Heard& heard) {
  Session* session = find(heard.seen.tuple);
  if (session != nullptr && session->paired && begins_anew(*session, heard.seen)) {
    leave(session->slot);
    session = nullptr;
  }
  if (session == nullptr || !session->paired) {
    recent_.add(heard.seen);
    return;
  }
  heard.session = session;
  heard.copy = copies_.is_copy(heard.seen);
  hear(heard);
}

void Follower::place(Heard& heard) const {
  const TuplePair& tuples = heard.session->tuples;
  const Tuple& tuple = heard.seen.tuple;
  if (tuple == tuples.client_side || tuple == tuples.client_side.reversed()) {
    heard.side = Side::client;
    heard.to_server = tuple == tuples.client_side;
  } else if (tuple == tuples.server_side || tuple == tuples.server_side.reversed()) {
    heard.side = Side::server;
    heard.to_server = tuple == tuples.server_side;
  }
}

// A packet in front of the node waits for its other sighting; one behind the node looks for the earlier one. Where the node
// translates nothing, only the TTL could tell which it is: what is seen again unaltered is a copy, and doesn't come here.
void Follower::pass(Heard& heard) {
  Session& session = *heard.session;
  if (heard.side == Side::none) return;
  const Seen& seen = heard.seen;
  const bool translated = session.tuples.client_side != session.tuples.server_side;
  const bool in_front = (heard.side == Side::client) == heard.to_server;
  if (!session.waiting) session.waiting = std::make_unique<std::array<Waiting, 2>>();
  Waiting& waiting = (*session.waiting)[heard.to_server ? 0 : 1];
  if (translated && heard.to_server) ++(in_front ? session.triggers.in_front : session.triggers.behind);
  if (!translated) compare(heard, waiting, true);
  if (translated ? in_front : !heard.altered) {
    waiting.packets[waiting.next] = {seen.at,    seen.digest,       seen.seq,       seen.ack, seen.data,
                                     seen.ip_id, seen.message_size, seen.tcp_flags, seen.ttl, true};
    waiting.next = (waiting.next + 1) % Waiting::kKept;
  }
  if (!translated || in_front) return;
  for (std::size_t i = 0; i < Waiting::kKept; ++i) {  // the oldest first: what was sent first comes out first
    Before& before = waiting.packets[(waiting.next + i) % Waiting::kKept];
    if (!before.waits || !same_packet(before, seen)) continue;
    before.waits = false;
    heard.came = before;
    if (heard.to_server) ++session.triggers.through;
    session.longest_held = std::max(session.longest_held, seen.at.time - before.at.time);
    return;
  }
  compare(heard, waiting, false);
}

// No packet in front of the node is the same as this one behind it. Is it one that the node altered? Where both have one tuple
// (`one_tuple`), only one with the same identification and a larger TTL can be.
void Follower::compare(Heard& heard, Waiting& waiting, bool one_tuple) {
  const Seen& seen = heard.seen;
  const auto has_id = [&](const Before& before) { return before.ip_id != 0 && before.ip_id == seen.ip_id; };
  // Who gives all packets one identification tells nothing by it.
  const bool telling = std::count_if(waiting.packets.begin(), waiting.packets.end(), has_id) == 1;
  for (Before& before : waiting.packets) {
    if (!before.waits || before.tcp_flags != seen.tcp_flags || seen.at.time - before.at.time > kSecond) continue;
    const bool same_id = has_id(before);
    if (one_tuple && (!same_id || !telling || before.ttl <= seen.ttl)) continue;
    const bool same_numbers = before.seq == seen.seq && before.ack == seen.ack;
    const bool syn = (seen.tcp_flags & packet::kTcpSyn) != 0;
    // Without identifications the place in the stream tells; what lies before it is a keep-alive's octet.
    const bool same_place = before.ip_id == 0 && seen.ip_id == 0 && seen.is_tcp() && seen.data > 1;
    const bool one_kept = before.digest != 0 && seen.data >= 16 && (before.seq == seen.seq) != (before.ack == seen.ack);
    if (same_data(before, seen)) {
      if (!same_numbers && (same_id || syn || one_kept)) heard.change = Change::numbers;
    } else if ((same_id || same_place) &&
               same_numbers) {  // larger or smaller data are also what segmentation offload makes of them
      if (before.data == seen.data) heard.change = Change::data;
      if (before.message != 0 && before.data + before.message == seen.data) heard.change = Change::left_over;
    }
    if (heard.change == Change::none) continue;
    before.waits = false;
    heard.altered = before;
    // A datagram has no numbers that tell it from others, and identifications may be drawn by lot. Of two SYN with different
    // numbers one may be another try of the client.
    heard.certainly = seen.is_tcp() && same_id && telling;
    return;
  }
}

void Follower::hear(Heard& heard) {
  Session& session = *heard.session;
  place(heard);
  const Seen& seen = heard.seen;
  if (heard.is_flow() && heard.side != Side::none && !heard.copy) {
    ++session.packets;
    pass(heard);
    if (seen.is_syn() && heard.to_server && !session.isn) session.isn = seen.seq;
    if ((seen.tcp_flags & packet::kTcpFin) != 0) session.fins |= heard.to_server ? 1 : 2;
    if (((seen.tcp_flags & packet::kTcpRst) != 0 || session.fins == 3) && !session.ended) {
      unlink(session.slot);
      session.ended = true;
      link(session.slot);
    }
  }
  if (heard.packet != nullptr) touch(session, seen.at);
  listener_.on_heard(heard);
  weigh(session);
}

void Follower::catch_up(Session& session, const Moment& at) {
  early_.clear();
  recent_.take(session.tuples.client_side, at.time - kEarly, early_);
  if (session.tuples.server_side != session.tuples.client_side) {
    recent_.take(session.tuples.server_side, at.time - kEarly, early_);
    std::stable_sort(early_.begin(), early_.end(), [](const Seen& a, const Seen& b) { return a.at.number < b.at.number; });
  }
  // The latest SYN begins what the message tells of; what came before it belongs to an older connection of the same ports.
  std::size_t begin = 0;
  for (std::size_t i = 0; i < early_.size(); ++i) {
    const bool other = early_[i].is_syn() && (begin == i || !early_[begin].is_syn() || early_[i].seq != early_[begin].seq);
    if (other && early_[i].tuple == session.tuples.client_side) begin = i;
  }
  for (std::size_t i = begin; i < early_.size(); ++i) {
    Heard heard;
    heard.seen = early_[i];
    heard.session = &session;
    heard.late = true;
    wire::Message hello;
    if (heard.seen.hello) {
      hello = wire::hello_session(heard.seen.tuple.protocol, Cookie{heard.seen.hello_cookie});
      heard.message = &hello;
      constexpr std::uint8_t kOccupying = packet::kTcpSyn | packet::kTcpFin | packet::kTcpRst;
      const bool alone = heard.seen.data == 0 && (heard.seen.tcp_flags & kOccupying) == 0;
      heard.carriage = heard.seen.is_tcp() ? (alone ? packet::Carriage::separate_tcp : packet::Carriage::inline_tcp)
                                           : (alone ? packet::Carriage::separate_udp : packet::Carriage::inline_udp);
      ++session.messages[static_cast<std::size_t>(wire::MsgType::HS)];
    } else {
      heard.copy = copies_.is_copy(heard.seen);
    }
    if (heard.seen.at.time < session.first.time) session.first = heard.seen.at;
    hear(heard);
  }
}

}  // namespace asrp::dump
