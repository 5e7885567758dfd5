// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/lmdb_store.hpp"

#include <fcntl.h>
#include <lmdb.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace asrp::io {

namespace {

// Pages that one put or erase may take at most: a path to a leaf copied (the tree of a billion records is 6 deep), a split at
// each level, and the list of freed pages.
constexpr std::size_t kPagesPerChange = 16;
// The file's memory is claimed ahead in pieces of this size. Without it a full tmpfs would be a SIGBUS in the middle of a
// write.
constexpr std::size_t kClaimPages = 256;
// Erasing takes pages too: so many stay claimed beyond what puts may use.
constexpr std::size_t kEraseReserve = 16 * kPagesPerChange;
// Share of the map that records may fill, in quarters. The rest is for copies of pages that are being replaced and for the
// list of free ones: a map that is really full could not even be emptied any more.
constexpr std::size_t kUsableQuarters = 3;

// With WRITEMAP a transaction writes to pages that no committed tree refers to, and its last store switches the root: the page
// cache outlives the process, so that SIGKILL at any instant leaves the last committed tree. Only a crash of the machine needs
// syncing, and it takes the sessions with it.
constexpr unsigned kFlags = MDB_WRITEMAP | MDB_NOSYNC | MDB_NOTLS | MDB_NOMEMINIT | MDB_NORDAHEAD;

class LmdbStore final : public session::RecordStore {
 public:
  LmdbStore() = default;
  ~LmdbStore() override {
    if (write_ != nullptr) mdb_txn_abort(write_);
    if (read_ != nullptr) mdb_txn_abort(read_);
    if (environment_ != nullptr) mdb_env_close(environment_);
  }
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;

  /// 0 or an error of errno or LMDB.
  int open(const LmdbOptions& options);

  Octets get(std::uint32_t slot) override;
  bool put(std::uint32_t slot, Octets record) override;
  void erase(std::uint32_t slot) override;
  bool commit() override;
  void for_each(const std::function<void(std::uint32_t, Octets)>& visit) override;

 private:
  bool begin();
  [[nodiscard]] std::size_t growth() const;
  bool has_room();
  bool claim(std::size_t pages);
  void end_read();
  void visit_snapshot(const std::function<void(std::uint32_t, Octets)>& visit);
  void visit_uncommitted(const std::function<void(std::uint32_t, Octets)>& visit);

  MDB_env* environment_ = nullptr;
  MDB_dbi table_ = 0;
  MDB_txn* write_ = nullptr;
  MDB_txn* read_ = nullptr;  // renewed for each get outside a write transaction
  bool reading_ = false;
  bool broken_ = false;  // the write transaction failed: commit() will say so
  int file_ = -1;        // LMDB's own
  std::size_t page_size_ = 0;
  std::size_t map_pages_ = 0;
  std::size_t claimed_ = 0;  // pages of the file that have memory
  std::size_t used_ = 0;     // pages of the tree at the begin of the write transaction
  std::size_t last_ = 0;     // highest page in use, at the same time
  std::size_t changes_ = 0;  // in the write transaction
};

MDB_val key_of(std::uint32_t& slot) { return {sizeof slot, &slot}; }
Octets octets_of(const MDB_val& value) { return {static_cast<const std::uint8_t*>(value.mv_data), value.mv_size}; }
std::uint32_t slot_of(const MDB_val& key) {
  std::uint32_t slot = 0;
  std::memcpy(&slot, key.mv_data, sizeof slot);
  return slot;
}

int LmdbStore::open(const LmdbOptions& options) {
  if (::mkdir(options.directory.c_str(), 0700) != 0 && errno != EEXIST) return errno;
  if (const int rc = mdb_env_create(&environment_); rc != 0) return rc;
  if (const int rc = mdb_env_set_mapsize(environment_, options.map_size); rc != 0) return rc;
  if (const int rc = mdb_env_open(environment_, options.directory.c_str(), kFlags, 0600); rc != 0) return rc;
  MDB_txn* transaction = nullptr;
  if (const int rc = mdb_txn_begin(environment_, nullptr, 0, &transaction); rc != 0) return rc;
  if (const int rc = mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY, &table_); rc != 0) {
    mdb_txn_abort(transaction);
    return rc;
  }
  if (const int rc = mdb_txn_commit(transaction); rc != 0) return rc;
  if (const int rc = mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &read_); rc != 0) return rc;
  mdb_txn_reset(read_);
  MDB_envinfo info;
  mdb_env_info(environment_, &info);
  MDB_stat tree;
  mdb_env_stat(environment_, &tree);
  page_size_ = tree.ms_psize;
  map_pages_ = info.me_mapsize / page_size_;
  return mdb_env_get_fd(environment_, &file_);
}

void LmdbStore::end_read() {
  if (reading_) mdb_txn_reset(read_);
  reading_ = false;
}

bool LmdbStore::begin() {
  if (broken_) return false;
  if (write_ != nullptr) return true;
  end_read();
  if (mdb_txn_begin(environment_, nullptr, 0, &write_) != 0) {
    write_ = nullptr;
    return false;
  }
  MDB_stat tree;
  mdb_stat(write_, table_, &tree);
  used_ = tree.ms_branch_pages + tree.ms_leaf_pages + tree.ms_overflow_pages;
  MDB_envinfo info;
  mdb_env_info(environment_, &info);
  last_ = info.me_last_pgno;
  changes_ = 0;
  return true;
}

bool LmdbStore::claim(std::size_t pages) {
  while (claimed_ < std::min(pages, map_pages_)) {
    const std::size_t more = std::min(kClaimPages, map_pages_ - claimed_);
    if (::posix_fallocate(file_, static_cast<off_t>(claimed_ * page_size_), static_cast<off_t>(more * page_size_)) != 0)
      return false;
    claimed_ += more;
  }
  return true;
}

// The most pages that the transaction may have taken after one more change: so many for each, but a long one cannot copy more
// than the whole tree, nor split more than a leaf and now and then a branch for each record.
std::size_t LmdbStore::growth() const {
  const std::size_t changes = changes_ + 1;
  return std::min(changes * kPagesPerChange, used_ + 2 * changes + kEraseReserve);
}

bool LmdbStore::has_room() {
  constexpr std::size_t kChangesPerPage = 8;  // records are small: a new page holds many more
  if (used_ + changes_ / kChangesPerPage + kPagesPerChange > map_pages_ / 4 * kUsableQuarters) return false;
  return claim(last_ + growth() + kEraseReserve);
}

Octets LmdbStore::get(std::uint32_t slot) {
  end_read();
  MDB_txn* transaction = write_;
  if (transaction == nullptr) {
    if (mdb_txn_renew(read_) != 0) return {};
    reading_ = true;
    transaction = read_;
  }
  MDB_val key = key_of(slot);
  MDB_val value{};
  return mdb_get(transaction, table_, &key, &value) == 0 ? octets_of(value) : Octets{};
}

bool LmdbStore::put(std::uint32_t slot, Octets record) {
  ASRP_ASSERT(!record.empty());
  if (!begin() || !has_room()) return false;
  ++changes_;
  MDB_val key = key_of(slot);
  MDB_val value{record.size(), const_cast<std::uint8_t*>(record.data())};
  if (mdb_put(write_, table_, &key, &value, 0) == 0) return true;
  broken_ = true;  // LMDB refuses everything until the transaction is aborted
  return false;
}

void LmdbStore::erase(std::uint32_t slot) {
  if (!begin()) return;
  // Puts have left pages for this. Only where the memory is all gone and they are used up does the record stay.
  if (!claim(last_ + growth())) return;
  ++changes_;
  MDB_val key = key_of(slot);
  const int rc = mdb_del(write_, table_, &key, nullptr);
  if (rc != 0 && rc != MDB_NOTFOUND) broken_ = true;
}

bool LmdbStore::commit() {
  end_read();
  if (write_ == nullptr) return true;
  MDB_txn* transaction = std::exchange(write_, nullptr);
  if (std::exchange(broken_, false)) {
    mdb_txn_abort(transaction);
    return false;
  }
  return mdb_txn_commit(transaction) == 0;  // frees it in any case
}

void LmdbStore::for_each(const std::function<void(std::uint32_t, Octets)>& visit) {
  end_read();
  if (write_ == nullptr) {
    visit_snapshot(visit);
  } else {
    visit_uncommitted(visit);
  }
}

// A snapshot of its own: the visitor may put and erase.
void LmdbStore::visit_snapshot(const std::function<void(std::uint32_t, Octets)>& visit) {
  MDB_txn* snapshot = nullptr;
  if (mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &snapshot) != 0) return;
  MDB_cursor* cursor = nullptr;
  if (mdb_cursor_open(snapshot, table_, &cursor) == 0) {
    MDB_val key{};
    MDB_val value{};
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) visit(slot_of(key), octets_of(value));
    mdb_cursor_close(cursor);
  }
  mdb_txn_abort(snapshot);
}

// Inside a write transaction a change moves what a cursor stands on: slots first, then each record.
void LmdbStore::visit_uncommitted(const std::function<void(std::uint32_t, Octets)>& visit) {
  std::vector<std::uint32_t> slots;
  MDB_cursor* cursor = nullptr;
  if (mdb_cursor_open(write_, table_, &cursor) != 0) return;
  MDB_val key{};
  MDB_val value{};
  while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) slots.push_back(slot_of(key));
  mdb_cursor_close(cursor);
  for (const std::uint32_t slot : slots)
    if (const Octets record = get(slot); !record.empty()) visit(slot, record);
}

std::string advice_for(int number) {
  switch (number) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOTDIR:
      return std::string(kPlaceAdvice);
    case MDB_VERSION_MISMATCH:
    case MDB_INVALID:
    case MDB_CORRUPTED:
      return std::string("it holds no backups that this version can read (") + mdb_strerror(number) + "): remove the directory";
    case ENOMEM:
      return "address space or memory is limited; configure a smaller map";
    default:
      return number < 0 ? mdb_strerror(number) : std::string();
  }
}

}  // namespace

Result<std::unique_ptr<session::RecordStore>, IoError> open_lmdb_store(const LmdbOptions& options) {
  auto store = std::make_unique<LmdbStore>();
  if (const int number = store->open(options); number != 0)
    return Failure{IoError{"open the store " + options.directory, number > 0 ? number : 0, advice_for(number)}};
  return std::unique_ptr<session::RecordStore>(std::move(store));
}

}  // namespace asrp::io
