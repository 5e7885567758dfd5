// SPDX-License-Identifier: BSD-3-Clause
#include "decode/reassembly.hpp"

#include <algorithm>

#include "asrp/packet/checksum.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kMaxTotal = 65535;         // IPv4 total length; IPv6 payload length
constexpr std::size_t kKeptCapacity = 8 * 1024;  // octets that an idle slot may hold on to

void empty(Buffer& buffer) {
  if (buffer.capacity() > kKeptCapacity) {
    Buffer().swap(buffer);
  } else {
    buffer.clear();
  }
}

/// What comes before the fragmented part, the fragment header left out.
void take_headers(Octets packet, const IpParts& parts, Buffer& out) {
  const std::size_t size = parts.family == Family::v4 ? parts.transport : parts.fragment_header;
  out.assign(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(size));
  if (parts.family == Family::v6) out[parts.fragment_next_field] = parts.protocol;
}

}  // namespace

Reassembly::Reassembly(const ReassemblyLimits& limits) : limits_(limits) {
  buckets_.fill(kNone);
  if (limits_.datagrams == 0) limits_.datagrams = 1;
}

Reassembly::Key Reassembly::key_of(Octets packet, const IpParts& parts) {
  if (parts.family == Family::v4) {
    return {IpAddress::v4(packet.subspan(12, 4)), IpAddress::v4(packet.subspan(16, 4)), parts.fragment_id, parts.protocol};
  }
  return {IpAddress::v6(packet.subspan(8, 16)), IpAddress::v6(packet.subspan(24, 16)), parts.fragment_id, 0};
}

std::size_t Reassembly::bucket_of(const Key& key) {
  std::uint64_t hash = key.id * std::uint64_t{0x9e3779b97f4a7c15} + key.protocol;
  for (const Octets octets : {key.src.octets(), key.dst.octets()}) {
    for (const std::uint8_t octet : octets) hash = (hash ^ octet) * 0x100000001b3;
  }
  return static_cast<std::size_t>(hash >> 32) % kBuckets;
}

std::int32_t Reassembly::find(const Key& key) const {
  std::int32_t number = buckets_[bucket_of(key)];
  while (number != kNone && slots_[static_cast<std::size_t>(number)].key != key) {
    number = slots_[static_cast<std::size_t>(number)].next_in_bucket;
  }
  return number;
}

std::int32_t Reassembly::begin(const Key& key, std::int64_t now) {
  if (free_.empty()) {
    if (slots_.size() < limits_.datagrams) {
      free_.push_back(static_cast<std::int32_t>(slots_.size()));
      slots_.emplace_back();
    } else {
      ++counts_.displaced;
      release(oldest_);
    }
  }
  const std::int32_t number = free_.back();
  free_.pop_back();
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  std::int32_t& bucket = buckets_[bucket_of(key)];
  slot.key = key;
  slot.begun = now;
  slot.next_in_bucket = bucket;
  bucket = number;
  slot.older = youngest_;
  slot.younger = kNone;
  (youngest_ == kNone ? oldest_ : slots_[static_cast<std::size_t>(youngest_)].younger) = number;
  youngest_ = number;
  return number;
}

void Reassembly::release(std::int32_t number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  std::int32_t* link = &buckets_[bucket_of(slot.key)];
  while (*link != number) link = &slots_[static_cast<std::size_t>(*link)].next_in_bucket;
  *link = slot.next_in_bucket;
  (slot.older == kNone ? oldest_ : slots_[static_cast<std::size_t>(slot.older)].younger) = slot.younger;
  (slot.younger == kNone ? youngest_ : slots_[static_cast<std::size_t>(slot.younger)].older) = slot.older;
  discard(slot);
  slot.is_discarded = false;
  free_.push_back(number);
}

/// Frees what the slot holds; it stays to catch the later fragments of a datagram that is not wanted.
void Reassembly::discard(Slot& slot) {
  octets_ -= slot.octets();
  slot.is_discarded = true;
  slot.total = 0;
  slot.pieces.clear();
  slot.kept.clear();
  empty(slot.headers);
  empty(slot.data);
  empty(slot.frames);
}

/// False if there is none, although all others are gone.
bool Reassembly::make_room(std::size_t growth, std::int32_t keep) {
  while (octets_ + growth > limits_.octets) {
    std::int32_t victim = oldest_;
    if (victim == keep) victim = slots_[static_cast<std::size_t>(keep)].younger;
    if (victim == kNone) return false;
    ++counts_.displaced;
    release(victim);
  }
  return true;
}

/// By how much the fragment would make the slot larger, at the most.
std::size_t Reassembly::growth_of(const Slot& slot, std::size_t end, std::size_t header, const Frame& frame) const {
  return header + (end - std::min(end, slot.data.size())) + (limits_.keep_frames ? frame.octets.size() : 0);
}

void Reassembly::expire(std::int64_t now) {
  while (oldest_ != kNone && now - slots_[static_cast<std::size_t>(oldest_)].begun > limits_.lifetime) {
    if (!slots_[static_cast<std::size_t>(oldest_)].is_discarded) ++counts_.expired;
    release(oldest_);
  }
}

void Reassembly::finish() {
  while (oldest_ != kNone) {
    if (!slots_[static_cast<std::size_t>(oldest_)].is_discarded) ++counts_.expired;
    release(oldest_);
  }
}

/// False if there are too many. Precondition: the piece overlaps none.
bool Reassembly::insert_piece(Slot& slot, std::size_t begin, std::size_t end) {
  auto next = std::lower_bound(slot.pieces.begin(), slot.pieces.end(), begin,
                               [](const Piece& piece, std::size_t offset) { return piece.begin < offset; });
  const bool joins_next = next != slot.pieces.end() && next->begin == end;
  const bool joins_previous = next != slot.pieces.begin() && std::prev(next)->end == begin;
  if (joins_previous && joins_next) {
    std::prev(next)->end = next->end;
    slot.pieces.erase(next);
  } else if (joins_previous) {
    std::prev(next)->end = end;
  } else if (joins_next) {
    next->begin = begin;
  } else {
    if (slot.pieces.size() >= limits_.pieces) return false;
    slot.pieces.insert(next, Piece{begin, end});
  }
  return true;
}

Reassembly::Fit Reassembly::fit(Slot& slot, const IpParts& parts, Octets data) {
  const std::size_t begin = parts.fragment_offset;
  const std::size_t end = begin + data.size();
  const std::size_t known_end = slot.pieces.empty() ? 0 : slot.pieces.back().end;
  if (slot.total != 0 && end > slot.total) return Fit::overlap;
  if (!parts.more_fragments && (known_end > end || (slot.total != 0 && slot.total != end))) return Fit::overlap;
  const auto hit = std::find_if(slot.pieces.begin(), slot.pieces.end(),
                                [&](const Piece& piece) { return begin < piece.end && piece.begin < end; });
  if (hit != slot.pieces.end()) {
    // The same packet seen twice, at two points of its path say, is no overlap.
    const bool is_inside = hit->begin <= begin && end <= hit->end;
    const bool is_same =
        is_inside && std::equal(data.begin(), data.end(), slot.data.begin() + static_cast<std::ptrdiff_t>(begin));
    return is_same ? Fit::duplicate : Fit::overlap;
  }
  if (!insert_piece(slot, begin, end)) return Fit::bad;
  if (!parts.more_fragments) slot.total = end;
  if (slot.data.size() < end) slot.data.resize(end);
  std::copy(data.begin(), data.end(), slot.data.begin() + static_cast<std::ptrdiff_t>(begin));
  return Fit::taken;
}

void Reassembly::keep_frame(Slot& slot, const Frame& frame) {
  if (!limits_.keep_frames) return;
  slot.kept.push_back({frame, slot.frames.size()});
  slot.frames.insert(slot.frames.end(), frame.octets.begin(), frame.octets.end());
}

Octets Reassembly::add(Octets packet, const IpParts& parts, const Frame& frame) {
  const std::int64_t now = frame.stamp.total_nanoseconds();
  expire(now);
  const std::size_t size = parts.total - std::min(parts.total, parts.transport);
  const bool is_aligned = !parts.more_fragments || size % 8 == 0;
  if (packet.size() < parts.total || size == 0 || !is_aligned || parts.fragment_offset + size > kMaxTotal) {
    ++counts_.bad;
    return {};
  }
  const Octets data = packet.subspan(parts.transport, size);
  const Key key = key_of(packet, parts);
  std::int32_t number = find(key);
  if (number == kNone) number = begin(key, now);
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  if (slot.is_discarded) return {};
  if (!make_room(growth_of(slot, parts.fragment_offset + size, parts.transport, frame), number)) {
    ++counts_.displaced;
    discard(slot);
    return {};
  }
  const std::size_t before = slot.octets();
  const Fit result = fit(slot, parts, data);
  if (result == Fit::taken) {
    if (parts.fragment_offset == 0) {
      slot.parts = parts;
      take_headers(packet, parts, slot.headers);
    }
    if (!slot.is_whole()) keep_frame(slot, frame);
  }
  octets_ += slot.octets() - before;
  if (result == Fit::overlap) ++counts_.overlaps;
  if (result == Fit::bad) ++counts_.bad;
  if (result == Fit::overlap || result == Fit::bad) discard(slot);
  if (result != Fit::taken || !slot.is_whole()) return {};
  const Octets whole = put_together(slot);
  release(number);
  return whole;
}

Octets Reassembly::put_together(Slot& slot) {
  whole_.assign(slot.headers.begin(), slot.headers.end());
  whole_.insert(whole_.end(), slot.data.begin(), slot.data.begin() + static_cast<std::ptrdiff_t>(slot.total));
  const bool is_v4 = slot.parts.family == Family::v4;
  const std::size_t length = is_v4 ? whole_.size() : whole_.size() - 40;
  if (length > kMaxTotal) {
    ++counts_.bad;
    return {};
  }
  store_u16(whole_, is_v4 ? 2 : 4, static_cast<std::uint16_t>(length));
  if (is_v4) {
    store_u16(whole_, 6, 0);
    store_u16(whole_, 10, 0);
    store_u16(whole_, 10, packet::ipv4_header_checksum(Octets(whole_).first(slot.headers.size())));
  }
  earlier_.clear();
  whole_frames_.swap(slot.frames);
  octets_ = octets_ + slot.frames.size() - whole_frames_.size();
  for (const Kept& kept : slot.kept) {
    earlier_.push_back(kept.frame);
    earlier_.back().octets = Octets(whole_frames_).subspan(kept.offset, kept.frame.octets.size());
  }
  ++counts_.whole;
  return whole_;
}

}  // namespace asrp::dump
