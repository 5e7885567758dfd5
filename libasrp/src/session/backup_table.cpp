// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/backup_table.hpp"

#include <algorithm>

#include "asrp/base/assert.hpp"

namespace asrp::session {
namespace {

/// Slots are dense; a larger number in a store is damage, and must not cost the memory of a map of all slots below it.
constexpr std::uint32_t kMaxSlots = 1u << 28;

}  // namespace

BackupTable::BackupTable(RecordStore& store, std::uint64_t seed) : store_(store), seed_(seed) {}

BackupTable::Loaded BackupTable::load() {
  Loaded loaded;
  // Changes of the store while it is walked are not promised to work: what has to go is noted first.
  store_.for_each([&](std::uint32_t slot, Octets record) {
    const auto backup = decode_backup(record);
    if (!backup || slot >= kMaxSlots) {
      erased_.push_back(slot);
      return;
    }
    if (slot >= in_use_.size()) in_use_.resize(std::size_t{slot} + 1);
    const std::uint64_t client = hash(backup->tuples.client_side);
    const std::uint64_t server = hash(backup->tuples.server_side);
    in_use_[slot] = true;
    added_.push_back({slot, client, server});
  });
  for (const Added& each : added_) {
    const auto backup = read(each.slot);
    if (!backup || find(backup->tuples.client_side) != kNoSlot || find(backup->tuples.server_side) != kNoSlot) {
      in_use_[each.slot] = false;
      erased_.push_back(each.slot);
      continue;
    }
    index_.insert(each.client_hash, each.slot);
    if (each.server_hash != each.client_hash) index_.insert(each.server_hash, each.slot);
    ++size_;
  }
  for (const std::uint32_t slot : erased_) store_.erase(slot);
  loaded.backups = size_;
  loaded.damaged = erased_.size();
  dirty_ = !erased_.empty();
  added_.clear();
  added_.shrink_to_fit();
  for (std::uint32_t slot = slot_limit(); slot-- > 0;) {
    if (!in_use_[slot]) free_.push_back(slot);
  }
  return loaded;
}

bool BackupTable::has(std::uint32_t slot, const Tuple& tuple) {
  const auto backup = decode_backup(store_.get(slot));
  if (!backup) return false;
  const auto same = [&](const Tuple& own) { return own == tuple || own == tuple.reversed(); };
  return same(backup->tuples.client_side) || same(backup->tuples.server_side);
}

std::uint32_t BackupTable::find(const Tuple& tuple) {
  return index_.find(hash(tuple), [&](std::uint32_t slot) { return has(slot, tuple); });
}

std::optional<Backup> BackupTable::read(std::uint32_t slot) {
  if (!in_use(slot)) return std::nullopt;
  return decode_backup(store_.get(slot));
}

std::uint32_t BackupTable::take_slot() {
  if (free_.empty()) {
    in_use_.push_back(false);
    return slot_limit() - 1;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void BackupTable::give_back(std::uint32_t slot) {
  in_use_[slot] = false;
  free_.push_back(slot);
}

std::uint32_t BackupTable::add(const Backup& backup) {
  record_.clear();
  encode_backup(backup, record_);
  const std::uint32_t slot = take_slot();
  if (!store_.put(slot, record_)) {
    free_.push_back(slot);
    return kNoSlot;
  }
  const std::uint64_t client = hash(backup.tuples.client_side);
  const std::uint64_t server = hash(backup.tuples.server_side);
  index_.insert(client, slot);
  if (server != client) index_.insert(server, slot);
  in_use_[slot] = true;
  ++size_;
  added_.push_back({slot, client, server});
  dirty_ = true;
  return slot;
}

bool BackupTable::update(std::uint32_t slot, const Backup& backup) {
  ASRP_ASSERT(in_use(slot));
  record_.clear();
  encode_backup(backup, record_);
  const Octets old = store_.get(slot);
  if (std::equal(old.begin(), old.end(), record_.begin(), record_.end())) return true;
  if (!store_.put(slot, record_)) return false;
  dirty_ = true;
  return true;
}

bool BackupTable::unindex(std::uint32_t slot, std::uint64_t client_hash, std::uint64_t server_hash) {
  if (!index_.erase(client_hash, slot)) return false;
  if (server_hash != client_hash) index_.erase(server_hash, slot);
  return true;
}

void BackupTable::release(std::uint32_t slot) {
  ASRP_ASSERT(in_use(slot));
  // Entries of a record that the store has lost stay in the index: they match nothing any more.
  if (const auto backup = read(slot)) unindex(slot, hash(backup->tuples.client_side), hash(backup->tuples.server_side));
  store_.erase(slot);
  give_back(slot);
  --size_;
  erased_.push_back(slot);
  dirty_ = true;
}

bool BackupTable::commit() {
  rolled_back_.clear();
  if (!dirty_) return true;
  for (const std::uint32_t slot : still_there_) {
    if (!in_use(slot)) store_.erase(slot);
  }
  const bool committed = store_.commit();
  if (committed) {
    still_there_.clear();
  } else {
    roll_back();
  }
  added_.clear();
  erased_.clear();
  dirty_ = !still_there_.empty();
  return committed;
}

void BackupTable::roll_back() {
  for (const Added& each : added_) {
    // Not there if it was released again before the commit, also when its slot has a new owner.
    if (!unindex(each.slot, each.client_hash, each.server_hash)) continue;
    give_back(each.slot);
    --size_;
    rolled_back_.push_back(each.slot);
  }
  still_there_.insert(still_there_.end(), erased_.begin(), erased_.end());
}

std::size_t BackupTable::octets() const {
  return index_.octets() + in_use_.capacity() / 8 + free_.capacity() * sizeof(std::uint32_t);
}

}  // namespace asrp::session
