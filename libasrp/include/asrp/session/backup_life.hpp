// SPDX-License-Identifier: BSD-3-Clause
// When to look at a backup's local session next (decisions 18 and 19): 16 octets per slot, any number of backups, every
// operation in constant time. Time and states only; what a look finds out is HolderEngine's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "asrp/base/time.hpp"
#include "asrp/session/backup_index.hpp"

namespace asrp::session {

/// What is known of the local session of a backup.
enum class Life : std::uint8_t {
  free,       // no backup in this slot
  young,      // embryonic, not looked at yet: its packet may still be on the way through the stack
  unseen,     // embryonic, looked at once, no session found
  settled,    // a session was seen; nothing is due until its end is reported
  ending,     // the end was reported while something of the session was left: to be looked at again
  lingering,  // UDP: conntrack's entry ended; the node's entry must end before the backup does
};

class BackupLife {
 public:
  BackupLife();
  /// Begin of the time axis. Call before the first place().
  void start(TimePoint now) { start_ = now; }

  /// Puts a slot into a state; `due` counts for all but `settled`. Within `young` and within `unseen` the calls come in the
  /// order of their `due` (constant delays); a call out of order may be looked at late, never early.
  void place(std::uint32_t slot, Life life, TimePoint due = {});
  void remove(std::uint32_t slot) { place(slot, Life::free); }
  [[nodiscard]] Life life(std::uint32_t slot) const { return slot < limit_ ? meta(slot).life : Life::free; }
  [[nodiscard]] TimePoint due(std::uint32_t slot) const { return start_ + kTick * meta(slot).due; }

  /// An ended session's notice may belong to an earlier session with the same tuple: notices prove nothing until a session was
  /// seen. Nothing happens if the slot was never placed.
  void set_ambiguous(std::uint32_t slot, bool ambiguous) {
    if (slot < limit_) meta(slot).ambiguous = ambiguous;
  }
  [[nodiscard]] bool is_ambiguous(std::uint32_t slot) const { return slot < limit_ && meta(slot).ambiguous; }

  /// Appends up to `max` slots that are due; they keep their state and are due no more until the next place().
  void take_due(TimePoint now, std::size_t max, std::vector<std::uint32_t>& out);
  /// Appends the `max` oldest embryonic slots, the unseen before the young; nothing changes.
  void oldest_embryonic(std::size_t max, std::vector<std::uint32_t>& out) const;
  /// Appends the `max` lingering slots that are due first, in this order; nothing changes. Over any number of calls the time
  /// for each slot is constant.
  void first_lingering(std::size_t max, std::vector<std::uint32_t>& out);
  [[nodiscard]] std::optional<TimePoint> next_due() const;

  [[nodiscard]] std::size_t embryonic() const { return embryonic_; }
  /// Memory in octets.
  [[nodiscard]] std::size_t octets() const;

 private:
  // 16 per second: in 32 bits this lasts for eight years.
  static constexpr Duration kTick = std::chrono::microseconds(62'500);
  static constexpr std::uint32_t kBuckets = 8192;  // 512 s ahead; what is due later waits in the last one and is put off
  static constexpr std::uint16_t kYoungList = kBuckets;
  static constexpr std::uint16_t kUnseenList = kBuckets + 1;
  static constexpr std::uint16_t kNoList = 0xFFFF;
  static constexpr std::uint32_t kChunk = 4096;

  struct Meta {
    std::uint32_t next = kNoSlot;
    std::uint32_t previous = kNoSlot;
    std::uint32_t due = 0;  // in ticks
    std::uint16_t list = kNoList;
    Life life = Life::free;
    bool ambiguous = false;
  };
  struct List {
    std::uint32_t first = kNoSlot;
    std::uint32_t last = kNoSlot;
  };

  Meta& meta(std::uint32_t slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  [[nodiscard]] const Meta& meta(std::uint32_t slot) const { return chunks_[slot / kChunk][slot % kChunk]; }
  [[nodiscard]] std::uint32_t tick_at_or_after(TimePoint at) const;
  [[nodiscard]] std::uint32_t tick_at_or_before(TimePoint at) const;
  void append(std::uint32_t slot, std::uint16_t list);
  void prepend(std::uint32_t slot, std::uint16_t list);
  void unlink(std::uint32_t slot);
  void into_wheel(std::uint32_t slot);
  void take_bucket(std::uint32_t now, std::size_t end, std::vector<std::uint32_t>& out);
  [[nodiscard]] std::uint32_t next_bucket_tick() const { return bucket_tick_from(turned_); }
  [[nodiscard]] std::uint32_t bucket_tick_from(std::uint32_t tick) const;

  TimePoint start_{};
  std::uint32_t turned_ = 0;     // all ticks before this one have been taken
  std::uint32_t lingering_ = 0;  // in no bucket before this tick's is a lingering slot
  std::uint32_t limit_ = 0;
  std::vector<std::unique_ptr<Meta[]>> chunks_;
  std::vector<List> lists_;                              // the wheel's buckets, then the two of the embryonic
  std::array<std::uint64_t, kBuckets / 64> occupied_{};  // which buckets are not empty
  std::size_t embryonic_ = 0;
};

}  // namespace asrp::session
