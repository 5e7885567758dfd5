// SPDX-License-Identifier: BSD-3-Clause
// A memory that forgets: remembers by keyed hash that something was seen a moment ago. Fixed size; a newer entry overwrites an
// older one in its place, so a miss proves nothing, and only optimisations and heuristics may rest on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "asrp/base/time.hpp"

namespace asrp::session {

template <typename Value>
class TagTable {
 public:
  /// `size`: a power of two.
  explicit TagTable(std::size_t size) : cells_(size) {}

  /// Returns the value in its place.
  Value& put(std::uint64_t tag, TimePoint now, const Value& value) {
    Cell& c = cell(tag);
    c = {tag, now, value};
    return c.value;
  }
  /// The value, if it was put at most `age` ago.
  [[nodiscard]] Value* find(std::uint64_t tag, TimePoint now, Duration age) {
    Cell& c = cell(tag);
    return c.tag == tag && c.tag != 0 && now - c.at <= age ? &c.value : nullptr;
  }
  [[nodiscard]] const Value* find(std::uint64_t tag, TimePoint now, Duration age) const {
    return const_cast<TagTable*>(this)->find(tag, now, age);
  }
  void erase(std::uint64_t tag) {
    Cell& c = cell(tag);
    if (c.tag == tag) c = Cell{};
  }

 private:
  struct Cell {
    std::uint64_t tag = 0;  // 0: empty
    TimePoint at{};
    Value value{};
  };
  Cell& cell(std::uint64_t tag) { return cells_[(tag >> 32) & (cells_.size() - 1)]; }

  std::vector<Cell> cells_;
};

}  // namespace asrp::session
