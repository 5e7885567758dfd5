// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_index.hpp"

namespace asrp::session {

BackupIndex::BackupIndex() : shards_(kShards), octets_(kShards * sizeof(Shard)) {}

void BackupIndex::place(Shard& shard, Entry entry) {
  std::uint32_t i = entry.tag & shard.mask;
  while (shard.entries[i].slot != kNoSlot) i = (i + 1) & shard.mask;
  shard.entries[i] = entry;
}

void BackupIndex::grow(Shard& shard) {
  const std::uint32_t old_capacity = shard.entries ? shard.mask + 1 : 0;
  const std::uint32_t capacity = old_capacity == 0 ? 8 : old_capacity * 2;
  const std::unique_ptr<Entry[]> old = std::move(shard.entries);
  shard.entries = std::make_unique<Entry[]>(capacity);
  shard.mask = capacity - 1;
  for (std::uint32_t i = 0; i < old_capacity; ++i) {
    if (old[i].slot != kNoSlot) place(shard, old[i]);
  }
  octets_ += (capacity - old_capacity) * sizeof(Entry);
}

void BackupIndex::insert(std::uint64_t hash, std::uint32_t slot) {
  Shard& shard = shards_[shard_of(hash)];
  if (!shard.entries || (shard.count + 1) * 4 > (shard.mask + 1) * 3) grow(shard);  // at most three quarters full
  place(shard, {slot, tag_of(hash)});
  ++shard.count;
  ++size_;
}

bool BackupIndex::erase(std::uint64_t hash, std::uint32_t slot) {
  Shard& shard = shards_[shard_of(hash)];
  if (shard.count == 0) return false;
  const std::uint32_t tag = tag_of(hash);
  std::uint32_t hole = tag & shard.mask;
  while (shard.entries[hole].slot != slot || shard.entries[hole].tag != tag) {
    if (shard.entries[hole].slot == kNoSlot) return false;
    hole = (hole + 1) & shard.mask;
  }
  for (std::uint32_t i = (hole + 1) & shard.mask; shard.entries[i].slot != kNoSlot; i = (i + 1) & shard.mask) {
    // An entry may move back into the hole unless its home lies behind the hole.
    const std::uint32_t from_home = (i - shard.entries[i].tag) & shard.mask;
    if (from_home < ((i - hole) & shard.mask)) continue;
    shard.entries[hole] = shard.entries[i];
    hole = i;
  }
  shard.entries[hole] = {};
  --shard.count;
  --size_;
  return true;
}

}  // namespace asrp::session
