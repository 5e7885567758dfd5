// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_life.hpp"

#include <algorithm>
#include <bit>

namespace asrp::session {
namespace {

bool is_embryonic(Life life) { return life == Life::young || life == Life::unseen; }

}  // namespace

BackupLife::BackupLife() : lists_(kBuckets + 2) {}

std::uint32_t BackupLife::tick_at_or_after(TimePoint at) const {
  if (at <= start_) return 0;
  return static_cast<std::uint32_t>((at - start_ + kTick - Duration(1)) / kTick);
}

std::uint32_t BackupLife::tick_at_or_before(TimePoint at) const {
  return at <= start_ ? 0 : static_cast<std::uint32_t>((at - start_) / kTick);
}

void BackupLife::append(std::uint32_t slot, std::uint16_t list) {
  Meta& m = meta(slot);
  List& l = lists_[list];
  m.list = list;
  m.next = kNoSlot;
  m.previous = l.last;
  (l.last == kNoSlot ? l.first : meta(l.last).next) = slot;
  l.last = slot;
  if (list < kBuckets) occupied_[list / 64] |= std::uint64_t{1} << (list % 64);
}

void BackupLife::prepend(std::uint32_t slot, std::uint16_t list) {
  Meta& m = meta(slot);
  List& l = lists_[list];
  if (l.first == kNoSlot) return append(slot, list);
  m.list = list;
  m.next = l.first;
  m.previous = kNoSlot;
  meta(l.first).previous = slot;
  l.first = slot;
}

void BackupLife::unlink(std::uint32_t slot) {
  Meta& m = meta(slot);
  if (m.list == kNoList) return;
  List& l = lists_[m.list];
  (m.previous == kNoSlot ? l.first : meta(m.previous).next) = m.next;
  (m.next == kNoSlot ? l.last : meta(m.next).previous) = m.previous;
  if (m.list < kBuckets && l.first == kNoSlot) occupied_[m.list / 64] &= ~(std::uint64_t{1} << (m.list % 64));
  m.list = kNoList;
}

void BackupLife::into_wheel(std::uint32_t slot) {
  const std::uint32_t tick = std::clamp(meta(slot).due, turned_, turned_ + kBuckets - 2);
  const auto bucket = static_cast<std::uint16_t>(tick % kBuckets);
  if (meta(slot).life != Life::lingering) return append(slot, bucket);
  prepend(slot, bucket);  // in front: a bucket's first slot tells whether it has any
  lingering_ = std::min(lingering_, tick);
}

void BackupLife::first_lingering(std::size_t max, std::vector<std::uint32_t>& out) {
  const std::size_t begin = out.size();
  const std::size_t end = begin + max;
  // Buckets are 8192 ticks: what was taken leaves none behind, and what lies ahead is less than a turn away.
  for (std::uint32_t tick = std::max(lingering_, turned_); out.size() < end; ++tick) {
    tick = bucket_tick_from(tick);
    if (out.size() == begin) lingering_ = std::min(tick, turned_ + kBuckets);
    if (tick >= turned_ + kBuckets) return;  // also if there is none
    for (std::uint32_t slot = lists_[tick % kBuckets].first; slot != kNoSlot && out.size() < end; slot = meta(slot).next) {
      if (meta(slot).life != Life::lingering) break;
      out.push_back(slot);
    }
  }
}

void BackupLife::place(std::uint32_t slot, Life life, TimePoint due) {
  if (slot >= limit_) {
    if (life == Life::free) return;
    limit_ = slot + 1;
    while (chunks_.size() * kChunk < limit_) chunks_.push_back(std::make_unique<Meta[]>(kChunk));
  }
  unlink(slot);
  Meta& m = meta(slot);
  embryonic_ -= is_embryonic(m.life) ? 1 : 0;
  embryonic_ += is_embryonic(life) ? 1 : 0;
  m.life = life;
  if (life == Life::free) m.ambiguous = false;
  if (life == Life::free || life == Life::settled) return;
  m.due = tick_at_or_after(due);
  if (life == Life::young) {
    append(slot, kYoungList);
  } else if (life == Life::unseen) {
    append(slot, kUnseenList);
  } else {
    into_wheel(slot);
  }
}

void BackupLife::take_due(TimePoint now, std::size_t max, std::vector<std::uint32_t>& out) {
  const std::uint32_t tick = tick_at_or_before(now);
  const std::size_t end = out.size() + max;
  for (const std::uint16_t list : {kUnseenList, kYoungList}) {
    while (out.size() < end && lists_[list].first != kNoSlot && meta(lists_[list].first).due <= tick) {
      out.push_back(lists_[list].first);
      unlink(lists_[list].first);
    }
  }
  while (out.size() < end) {
    const std::uint32_t bucket = next_bucket_tick();
    if (bucket == kNoSlot || bucket > tick) {
      turned_ = std::max(turned_, tick);
      return;
    }
    turned_ = bucket;
    take_bucket(bucket, end, out);
  }
}

void BackupLife::take_bucket(std::uint32_t now, std::size_t end, std::vector<std::uint32_t>& out) {
  List& l = lists_[now % kBuckets];
  while (l.first != kNoSlot && out.size() < end) {
    const std::uint32_t slot = l.first;
    unlink(slot);
    if (meta(slot).due > now) {  // it lies further ahead than the wheel reaches: into the next turn, not into this bucket again
      turned_ = now + 1;
      into_wheel(slot);
      turned_ = now;
    } else {
      out.push_back(slot);
    }
  }
}

/// The tick of the first bucket, from that of `tick` on and round the wheel, that is not empty.
std::uint32_t BackupLife::bucket_tick_from(std::uint32_t tick) const {
  const std::uint32_t first = tick % kBuckets;
  for (std::uint32_t step = 0; step <= occupied_.size(); ++step) {
    const std::uint32_t word = (first / 64 + step) % static_cast<std::uint32_t>(occupied_.size());
    std::uint64_t bits = occupied_[word];
    if (step == 0) bits &= ~std::uint64_t{0} << (first % 64);
    if (step == occupied_.size()) bits &= ~(~std::uint64_t{0} << (first % 64));
    if (bits == 0) continue;
    const std::uint32_t bucket = word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits));
    return tick + (bucket + kBuckets - first) % kBuckets;
  }
  return kNoSlot;
}

void BackupLife::oldest_embryonic(std::size_t max, std::vector<std::uint32_t>& out) const {
  const std::size_t end = out.size() + max;
  for (const std::uint16_t list : {kUnseenList, kYoungList}) {
    for (std::uint32_t slot = lists_[list].first; slot != kNoSlot && out.size() < end; slot = meta(slot).next) {
      out.push_back(slot);
    }
  }
}

std::optional<TimePoint> BackupLife::next_due() const {
  std::uint32_t tick = next_bucket_tick();
  for (const std::uint16_t list : {kYoungList, kUnseenList}) {
    if (lists_[list].first != kNoSlot) tick = std::min(tick, meta(lists_[list].first).due);
  }
  if (tick == kNoSlot) return std::nullopt;
  return start_ + kTick * tick;
}

std::size_t BackupLife::octets() const {
  return chunks_.size() * kChunk * sizeof(Meta) + lists_.size() * sizeof(List) + sizeof(occupied_);
}

}  // namespace asrp::session
