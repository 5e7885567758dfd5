// SPDX-License-Identifier: BSD-3-Clause
// Finds slots by the hash of a tuple: open addressing, linear probing, no tombstones. The owner of the slots compares tuples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "asrp/session/slot_pool.hpp"

namespace asrp::session {

class TupleIndex {
 public:
  TupleIndex() : cells_(kSmallest) {}

  /// The slot with this hash for which `same(slot)` is true, or kNoSlot.
  template <typename Same>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, Same&& same) const {
    const auto tag = static_cast<std::uint32_t>(hash);
    for (std::size_t at = home(tag); cells_[at].slot != kNoSlot; at = next(at)) {
      if (cells_[at].tag == tag && same(cells_[at].slot)) return cells_[at].slot;
    }
    return kNoSlot;
  }
  /// Precondition: the pair is not there.
  void insert(std::uint64_t hash, std::uint32_t slot);
  /// No error if the pair is not there.
  void erase(std::uint64_t hash, std::uint32_t slot);
  /// Takes time in proportion to what is in it: room that a much larger burst needed is given back.
  void clear();
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Cells that there is room for; half of them can be used before it grows.
  [[nodiscard]] std::size_t capacity() const { return cells_.size(); }

 private:
  struct Cell {
    std::uint32_t tag = 0;
    std::uint32_t slot = kNoSlot;
  };
  static constexpr std::size_t kSmallest = 256;
  static constexpr std::size_t kSparse = 16;  // cells per entry beyond which clear() gives room back

  [[nodiscard]] std::size_t home(std::uint32_t tag) const { return tag & (cells_.size() - 1); }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & (cells_.size() - 1); }
  void grow();

  std::vector<Cell> cells_;  // a power of two, at most half full
  std::size_t size_ = 0;
};

}  // namespace asrp::session
