// SPDX-License-Identifier: GPL-2.0-or-later
// Looks through the kernel's whole table while packets go on: a thread of its own, with a socket of its own, reads the table
// (the kernel works for long where few of many entries are wanted), and the loop gets what was found in small pieces, one a
// turn.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "asrp/engine/flow_table.hpp"
#include "io/conntrack.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::node {

class TableSweep {
 public:
  enum class What : std::uint8_t { marked, untranslated, translated };  // io::Conntrack's three ways to go through the table
  /// Whether an entry is wanted. Runs in the sweep's thread: it may use only what it owns.
  using Wanted = std::function<bool(const engine::FlowEntry& entry)>;
  /// Gets a piece. Runs in the loop's thread; what it changes in the table the sweep may see or not.
  using Taken = std::function<void(std::span<const engine::FlowEntry> piece)>;
  /// Runs in the loop's thread, after the last piece.
  using Done = std::function<void()>;

  /// Entries of a piece at most: a turn of the loop is not longer by more than a burst's.
  static constexpr std::size_t kPiece = 64;

  /// `table` is the sweep's alone. `loop` must outlive the object.
  static std::unique_ptr<TableSweep> open(runtime::EventLoop& loop, std::unique_ptr<io::Conntrack> table);
  /// Ends the sweep that is under way where it is.
  virtual ~TableSweep() = default;

  /// Begins, or does so when what was begun before is done. A sweep for marked entries is left out while one is under way.
  virtual void begin(What what, Wanted wanted, Taken taken, Done done) = 0;
  /// In a Done: whether the sweep has seen the whole table. Known of What::translated alone.
  [[nodiscard]] virtual bool was_whole() const = 0;
};

}  // namespace asrp::node
