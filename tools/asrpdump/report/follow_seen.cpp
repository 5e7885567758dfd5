// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_seen.hpp"

#include <algorithm>
#include <random>

#include "asrp/base/siphash.hpp"
#include "decode/places.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kDigested = 32;  // octets of user data: what short snapshots still have

// Who writes a capture must not be able to choose two contents with one digest.
const HashKey& key() {
  static const HashKey made = [] {
    HashKey fresh{};
    std::random_device random;
    for (std::uint8_t& octet : fresh) octet = static_cast<std::uint8_t>(random());
    return fresh;
  }();
  return made;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

std::uint64_t key_of(const Seen& seen) {
  std::uint64_t hash = flow_hash(seen.tuple);
  hash = mix(hash, seen.tuple.src.port);
  hash = mix(hash, (std::uint64_t{seen.seq} << 32) | seen.ack);
  hash = mix(hash, (std::uint64_t{seen.data} << 32) | (std::uint64_t{seen.ip_id} << 16) | seen.tcp_flags);
  hash = mix(hash, seen.digest);
  hash = mix(hash, seen.message);
  return hash == 0 ? 1 : hash;
}

std::uint32_t link_of(const Packet& packet) {
  if (packet.link_type != kCooked2Link) return 0;
  const Places places = places_of(packet.frame, packet.link_type);
  const auto interface = static_cast<std::uint32_t>(places.from | places.to);
  return places.from == places.to ? 0 : 2 * interface + (places.to != 0 ? 1 : 0) + 1;
}

// Where on its way a packet was seen, never 0.
std::uint32_t point_of(const Seen& seen) { return (seen.link << 9) | 0x100 | seen.ttl; }

}  // namespace

std::uint64_t digest_of(Octets octets) {
  const std::uint64_t digest = siphash(key(), octets);
  return digest == 0 ? 1 : digest;
}

std::uint64_t digest_of(const Tuple& tuple) {
  static const std::uint64_t seed = digest_of(Octets{});
  const std::uint64_t digest = table_hash(tuple, seed);
  return digest == 0 ? 1 : digest;
}

std::uint64_t flow_hash(const Tuple& tuple) { return digest_of(normalised(tuple)); }

std::uint64_t data_digest(const wire::Message& message) {
  return message.session_data.empty() ? 0 : digest_of(message.session_data);
}

Seen look_at(const Packet& packet) {
  const packet::PacketView& view = *packet.view;
  Seen seen;
  seen.at = {packet.number, packet.stamp.total_nanoseconds()};
  seen.tuple = view.tuple();
  seen.ttl = view.ttl();
  seen.ip_id = view.is_v4() ? load_u16(view.octets(), 4) : std::uint16_t{0};
  seen.ip_size = static_cast<std::uint32_t>(view.octets().size());
  if (view.is_tcp()) {
    seen.tcp_flags = view.tcp_flags();
    seen.seq = view.tcp_sequence();
    seen.ack = view.tcp_acknowledgment();
  }
  seen.link = link_of(packet);
  const Sighting& sighting = packet.sighting;
  const bool separate = sighting.claim == Claim::message && (sighting.carriage == packet::Carriage::separate_tcp ||
                                                             sighting.carriage == packet::Carriage::separate_udp);
  seen.own_id = seen.ip_id != 0 && !separate;
  std::size_t inside = 0;
  if (sighting.claim == Claim::message) {
    seen.message = digest_of(sighting.octets);
    seen.message_size = sighting.length;
    seen.hello = sighting.message.type == wire::MsgType::HS;
    if (seen.hello) seen.hello_cookie = sighting.message.cookie.value;
    if (view.is_tcp()) inside = std::min<std::size_t>(sighting.length, view.payload_size());
  }
  const Octets data = view.payload().subspan(inside);
  seen.data = static_cast<std::uint32_t>(data.size());
  const std::size_t some = std::min(data.size(), kDigested);
  if (view.payload_offset() + inside + some <= packet.captured) seen.digest = digest_of(data.first(some));
  return seen;
}

// --- Copies ---------------------------------------------------------------------------------------------------------

Copies::Copies() : sets_(kSets) {}

bool Copies::Entry::is_sighting(const Seen& seen) const {
  const std::int64_t age = seen.at.time < time ? time - seen.at.time : seen.at.time - time;
  if (age > kLongestWay) return false;
  const auto has = [&](auto which) { return std::any_of(points.begin(), points.end(), which); };
  if (!has([&](std::uint32_t point) { return point != 0 && point % 256 == seen.ttl; })) return true;
  if (seen.own_id) return age <= kSkewOfOwnId;
  const bool same_link = seen.link != 0 && has([&](std::uint32_t point) { return point == point_of(seen); });
  return !same_link && age <= kSkew;
}

void Copies::Entry::note(const Seen& seen) {
  const std::uint32_t point = point_of(seen);
  for (std::uint32_t& known : points) {
    if (known == point) return;
    if (known != 0) continue;
    known = point;
    return;
  }
}

bool Copies::is_copy(const Seen& seen) {
  const std::uint64_t key = key_of(seen);
  auto& set = sets_[key % kSets];
  Entry* place = &set[0];
  for (Entry& entry : set) {
    if (entry.key == key) {
      if (entry.is_sighting(seen)) return entry.note(seen), true;
      place = &entry;
      break;
    }
    if (entry.time < place->time) place = &entry;
  }
  *place = {key, seen.at.time, {}};
  place->note(seen);
  return false;
}

// --- Recent ---------------------------------------------------------------------------------------------------------

Recent::Recent() : ring_(kSize), keys_(kSize) {}

void Recent::add(const Seen& seen) {
  ring_[next_] = seen;
  keys_[next_] = flow_hash(seen.tuple) | 1;
  next_ = (next_ + 1) % kSize;
}

void Recent::take(const Tuple& tuple, std::int64_t since, std::vector<Seen>& out) {
  const std::uint64_t key = flow_hash(tuple) | 1;
  for (std::size_t i = 0; i < kSize; ++i) {
    const std::size_t at = (next_ + i) % kSize;
    if (keys_[at] != key || normalised(ring_[at].tuple) != normalised(tuple)) continue;
    keys_[at] = 0;
    if (ring_[at].at.time >= since) out.push_back(ring_[at]);
  }
}

}  // namespace asrp::dump
