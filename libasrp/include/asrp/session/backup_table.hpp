// SPDX-License-Identifier: BSD-3-Clause
// All backups of a holder: a RecordStore and an index by both tuples of each. Knows nothing of time or of sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/session/backup.hpp"
#include "asrp/session/backup_index.hpp"
#include "asrp/session/record_store.hpp"

namespace asrp::session {

/// Changes are seen at once and count only after commit(). Slots are numbers below slot_limit(); those of released backups are
/// used again.
class BackupTable {
 public:
  /// `store` must outlive the table. `seed`: secret, random per process.
  BackupTable(RecordStore& store, std::uint64_t seed);

  struct Loaded {
    std::size_t backups = 0;
    std::size_t damaged = 0;  // not a record of ours, or a tuple that another record has: erased
  };
  /// Builds the index from the store. Call once, before anything else.
  Loaded load();

  /// The backup one of whose tuples, in either orientation, is `tuple`; kNoSlot if there is none (draft 4.3.3, 4.3.6).
  [[nodiscard]] std::uint32_t find(const Tuple& tuple);
  /// Nothing if the slot is free, or if the store has lost its record.
  [[nodiscard]] std::optional<Backup> read(std::uint32_t slot);
  [[nodiscard]] bool in_use(std::uint32_t slot) const { return slot < in_use_.size() && in_use_[slot]; }

  /// Precondition: neither tuple is found. kNoSlot if the store is full or fails: nothing was stored.
  std::uint32_t add(const Backup& backup);
  /// Replaces all but the tuples. False if the store refuses: the old record stays. Precondition: the same tuples.
  bool update(std::uint32_t slot, const Backup& backup);
  void release(std::uint32_t slot);

  /// True: everything since the last commit survives the process. False: the backups added since are gone (rolled_back() names
  /// their slots), updates are undone, and what was released stays so here and is erased with the next commit.
  bool commit();
  [[nodiscard]] bool is_dirty() const { return dirty_; }
  /// Valid until the next change.
  [[nodiscard]] std::span<const std::uint32_t> rolled_back() const { return rolled_back_; }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// All slots in use are below it.
  [[nodiscard]] std::uint32_t slot_limit() const { return static_cast<std::uint32_t>(in_use_.size()); }
  /// Memory in octets besides the store.
  [[nodiscard]] std::size_t octets() const;

 private:
  struct Added {
    std::uint32_t slot;
    std::uint64_t client_hash;
    std::uint64_t server_hash;
  };
  [[nodiscard]] std::uint64_t hash(const Tuple& tuple) const { return table_hash(normalised(tuple), seed_); }
  [[nodiscard]] bool has(std::uint32_t slot, const Tuple& tuple);
  std::uint32_t take_slot();
  void give_back(std::uint32_t slot);
  bool unindex(std::uint32_t slot, std::uint64_t client_hash, std::uint64_t server_hash);
  void roll_back();

  RecordStore& store_;
  std::uint64_t seed_;
  BackupIndex index_;
  std::vector<bool> in_use_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  bool dirty_ = false;
  std::vector<Added> added_;                // since the last commit
  std::vector<std::uint32_t> erased_;       // since the last commit
  std::vector<std::uint32_t> still_there_;  // erased in a commit that failed
  std::vector<std::uint32_t> rolled_back_;
  Buffer record_;
};

}  // namespace asrp::session
