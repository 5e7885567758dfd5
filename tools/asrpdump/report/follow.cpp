// SPDX-License-Identifier: BSD-3-Clause
// The table of the sessions; packets of flows are in follow_flow.cpp, messages in follow_message.cpp.
#include "report/follow.hpp"

#include <algorithm>
#include <string>

namespace asrp::dump {
namespace {

constexpr std::size_t kPiece = 16;  // what an allocation costs beyond its size
constexpr std::size_t kNames =
    2 * (sizeof(Tuple) + 3 * sizeof(void*) + kPiece + 2 * sizeof(void*));  // two nodes of by_tuple_, and their buckets

template <typename T>
std::size_t octets_of(const std::vector<T>& list) {
  return list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + kPiece;
}

std::size_t octets_of(const Session& session) {
  std::size_t octets = kNames + octets_of(session.asked) + octets_of(session.restored);
  if (session.waiting) octets += sizeof(*session.waiting) + kPiece;
  if (session.attachment) octets += session.attachment->octets() + kPiece;
  return octets;
}

}  // namespace

Follower::Follower(const FollowOptions& options, FollowListener& listener) : options_(options), listener_(listener) {
  options_.max_sessions = std::clamp<std::size_t>(options_.max_sessions, 1, 0x7fffffff);
}

void Follower::on_packet(const Packet& packet) {
  clock_.see(packet.stamp.total_nanoseconds());
  expire();
  if (!packet.view || packet.view->is_icmp()) return;
  Heard heard;
  heard.packet = &packet;
  heard.seen = look_at(packet);
  if (packet.sighting.claim == Claim::message) {
    heard.message = &packet.sighting.message;
    heard.carriage = packet.sighting.carriage;
    message(heard);
  } else if (packet.sighting.claim == Claim::none) {
    flow(heard);
  }
}

void Follower::finish() {
  while (open_.oldest != kNone || ended_.oldest != kNone) {
    const bool open_first =
        ended_.oldest == kNone || (open_.oldest != kNone && slots_[open_.oldest]->id < slots_[ended_.oldest]->id);
    leave(open_first ? open_.oldest : ended_.oldest);
  }
  for (const Asked& probe : probes_) listener_.on_probe_gone(probe);
  probes_.clear();
}

Session* Follower::find(const Tuple& tuple) {
  const auto found = by_tuple_.find(normalised(tuple));
  return found == by_tuple_.end() ? nullptr : &*slots_[found->second];
}

Session& Follower::create(const TuplePair& tuples, bool paired, const Heard& heard) {
  if (live_ >= options_.max_sessions) forget_one();
  Slot slot = static_cast<Slot>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Session& session = slots_[slot].emplace();
  session.id = next_id_++;
  session.slot = slot;
  session.tuples = tuples;
  session.paired = paired;
  session.first = session.last = heard.seen.at;
  session.touched = clock_.passed();
  ++live_;
  link(slot);
  name(slot, tuples.client_side);
  if (paired) name(slot, tuples.server_side);
  return session;
}

void Follower::name(Slot slot, const Tuple& tuple) {
  Slot& place = by_tuple_.try_emplace(normalised(tuple), slot).first->second;
  if (place != slot) {
    slots_[slot]->taken_from = place;
    slots_[slot]->taken_from_id = slots_[place]->id;
  }
  place = slot;
}

void Follower::unname(Slot slot, const Tuple& tuple) {
  const auto found = by_tuple_.find(normalised(tuple));
  if (found != by_tuple_.end() && found->second == slot) by_tuple_.erase(found);
}

void Follower::pair_up(Session& session, const TuplePair& tuples, const Moment& at) {
  unname(session.slot, session.tuples.client_side);
  if (session.paired) unname(session.slot, session.tuples.server_side);
  session.tuples = tuples;
  session.paired = true;
  name(session.slot, tuples.client_side);
  name(session.slot, tuples.server_side);
  catch_up(session, at);
}

// --- age ------------------------------------------------------------------------------------------------------------

void Follower::link(Slot slot) {
  Session& session = *slots_[slot];
  List& list = list_of(session);
  session.older = list.newest;
  session.newer = kNone;
  (list.newest == kNone ? list.oldest : slots_[list.newest]->newer) = slot;
  list.newest = slot;
}

void Follower::unlink(Slot slot) {
  const Session& session = *slots_[slot];
  List& list = list_of(session);
  (session.older == kNone ? list.oldest : slots_[session.older]->newer) = session.newer;
  (session.newer == kNone ? list.newest : slots_[session.newer]->older) = session.older;
}

void Follower::touch(Session& session, const Moment& at) {
  unlink(session.slot);
  session.last = at;
  session.touched = clock_.passed();
  link(session.slot);
}

void Follower::leave(Slot slot) {
  Session& session = *slots_[slot];
  listener_.on_gone(session);
  unlink(slot);
  unname(slot, session.tuples.client_side);
  if (session.paired) unname(slot, session.tuples.server_side);
  held_ -= session.octets;
  slots_[slot].reset();
  free_.push_back(slot);
  --live_;
}

void Follower::forget_one() {
  if (ended_.oldest == kNone) ++forgotten_;
  leave(ended_.oldest != kNone ? ended_.oldest : open_.oldest);
}

void Follower::tell_forgotten(const Sink& notes) const {
  if (forgotten_ == 0) return;
  notes("asrpdump: " + std::to_string(forgotten_) +
        " sessions had to be forgotten before they ended; --max-sessions sets how much is remembered at the same time\n");
}

void Follower::weigh(Session& session) {
  const std::size_t octets = octets_of(session);
  held_ += octets - session.octets;
  session.octets = octets;
}

void Follower::expire() {
  const auto too_old = [&](const List& list, std::chrono::nanoseconds limit) {
    return list.oldest != kNone && clock_.passed() - slots_[list.oldest]->touched > static_cast<std::uint64_t>(limit.count());
  };
  while (too_old(open_, options_.idle)) leave(open_.oldest);
  while (too_old(ended_, options_.ended)) leave(ended_.oldest);
  while (octets() > options_.max_octets && live_ > 1) forget_one();
}

}  // namespace asrp::dump
