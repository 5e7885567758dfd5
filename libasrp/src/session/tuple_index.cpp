// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/tuple_index.hpp"

#include <algorithm>
#include <bit>

namespace asrp::session {

void TupleIndex::insert(std::uint64_t hash, std::uint32_t slot) {
  if ((size_ + 1) * 2 > cells_.size()) grow();
  const auto tag = static_cast<std::uint32_t>(hash);
  std::size_t at = home(tag);
  while (cells_[at].slot != kNoSlot) at = next(at);
  cells_[at] = {tag, slot};
  ++size_;
}

void TupleIndex::erase(std::uint64_t hash, std::uint32_t slot) {
  std::size_t hole = home(static_cast<std::uint32_t>(hash));
  while (cells_[hole].slot != slot || cells_[hole].tag != static_cast<std::uint32_t>(hash)) {
    if (cells_[hole].slot == kNoSlot) return;
    hole = next(hole);
  }
  // Move up what probing would no longer find behind the hole.
  for (std::size_t at = next(hole); cells_[at].slot != kNoSlot; at = next(at)) {
    const std::size_t mask = cells_.size() - 1;
    const std::size_t distance_from_home = (at - home(cells_[at].tag)) & mask;
    const std::size_t distance_from_hole = (at - hole) & mask;
    if (distance_from_home >= distance_from_hole) {
      cells_[hole] = cells_[at];
      hole = at;
    }
  }
  cells_[hole] = Cell{};
  --size_;
}

void TupleIndex::clear() {
  if (cells_.size() > std::max(kSmallest, size_ * kSparse)) {
    std::vector<Cell>(std::max(kSmallest, std::bit_ceil(size_ * 4))).swap(cells_);
    size_ = 0;
    return;
  }
  std::fill(cells_.begin(), cells_.end(), Cell{});
  size_ = 0;
}

void TupleIndex::grow() {
  std::vector<Cell> old(cells_.size() * 2);
  old.swap(cells_);
  for (const Cell& cell : old) {
    if (cell.slot == kNoSlot) continue;
    std::size_t at = home(cell.tag);
    while (cells_[at].slot != kNoSlot) at = next(at);
    cells_[at] = cell;
  }
}

}  // namespace asrp::session
