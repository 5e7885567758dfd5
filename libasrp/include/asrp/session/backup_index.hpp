// SPDX-License-Identifier: BSD-3-Clause
// From a tuple's hash to slots of the store: 8 octets per entry, no tuple is kept here. BackupTable uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "asrp/session/slot_pool.hpp"

namespace asrp::session {

/// Open addressing with linear probing in many small shards, each of which grows by itself: no pause for one big rehash.
/// Deletion moves later entries back, so that there are no tombstones and a table that changes for years stays fast.
class BackupIndex {
 public:
  BackupIndex();

  void insert(std::uint64_t hash, std::uint32_t slot);
  /// False if that entry is not there.
  bool erase(std::uint64_t hash, std::uint32_t slot);
  /// The slot whose entry has this hash and that `matches(slot)` confirms (32 bits of a hash prove nothing); kNoSlot if none.
  template <typename Matches>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Matches&& matches) const {
    const Shard& shard = shards_[shard_of(hash)];
    if (shard.count == 0) return kNoSlot;
    const std::uint32_t tag = tag_of(hash);
    for (std::uint32_t i = tag & shard.mask;; i = (i + 1) & shard.mask) {
      const Entry& entry = shard.entries[i];
      if (entry.slot == kNoSlot) return kNoSlot;
      if (entry.tag == tag && matches(entry.slot)) return entry.slot;
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Memory in octets.
  [[nodiscard]] std::size_t octets() const { return octets_; }

 private:
  struct Entry {
    std::uint32_t slot = kNoSlot;
    std::uint32_t tag = 0;  // low half of the hash; its lowest bits are the entry's home
  };
  struct Shard {
    std::unique_ptr<Entry[]> entries;
    std::uint32_t mask = 0;  // capacity - 1
    std::uint32_t count = 0;
  };
  static constexpr std::size_t kShards = 1024;
  static std::size_t shard_of(std::uint64_t hash) { return hash >> 54; }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
  static void place(Shard& shard, Entry entry);
  void grow(Shard& shard);

  std::vector<Shard> shards_;
  std::size_t size_ = 0;
  std::size_t octets_ = 0;
};

}  // namespace asrp::session
