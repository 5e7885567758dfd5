// SPDX-License-Identifier: BSD-3-Clause
// Objects in flight, known by a slot number that stays the same while they live. Slots are reused: no allocation once the pool
// has seen its largest load.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "asrp/base/assert.hpp"

namespace asrp::session {

inline constexpr std::uint32_t kNoSlot = 0xffffffff;

template <typename T>
class SlotPool {
 public:
  /// At most `limit` objects at a time.
  explicit SlotPool(std::size_t limit) : limit_(limit) {}

  /// A fresh T's slot, or kNoSlot at the limit.
  std::uint32_t take() {
    if (size_ >= limit_) return kNoSlot;
    std::uint32_t slot;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(cells_.size());
      cells_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    cells_[slot].value = T{};
    cells_[slot].used = true;
    ++size_;
    return slot;
  }
  void give_back(std::uint32_t slot) {
    ASRP_ASSERT(cells_[slot].used);
    cells_[slot].used = false;
    ++cells_[slot].generation;
    free_.push_back(slot);
    --size_;
  }

  T& operator[](std::uint32_t slot) {
    ASRP_ASSERT(cells_[slot].used);
    return cells_[slot].value;
  }
  const T& operator[](std::uint32_t slot) const {
    ASRP_ASSERT(cells_[slot].used);
    return cells_[slot].value;
  }
  /// Changes whenever the slot is given back: tells an old reference (of a timer) from a new one.
  [[nodiscard]] std::uint32_t generation(std::uint32_t slot) const { return cells_[slot].generation; }
  [[nodiscard]] bool alive(std::uint32_t slot, std::uint32_t generation) const {
    return slot < cells_.size() && cells_[slot].used && cells_[slot].generation == generation;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  void set_limit(std::size_t limit) { limit_ = limit; }

  /// Slots in use, for visits that may give the visited slot back.
  template <typename Visit>
  void for_each_slot(Visit&& visit) const {
    for (std::uint32_t slot = 0; slot < cells_.size(); ++slot) {
      if (cells_[slot].used) visit(slot);
    }
  }

 private:
  struct Cell {
    T value{};
    std::uint32_t generation = 0;
    bool used = false;
  };
  std::deque<Cell> cells_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
  std::size_t limit_;
};

}  // namespace asrp::session
