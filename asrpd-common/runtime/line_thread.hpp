// SPDX-License-Identifier: GPL-2.0-or-later
// A long answer whose lines a thread of its own makes, so that the loop has only to hand them on: for what goes through the
// kernel's whole table.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/control_command.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

/// What the thread writes to.
class LineSink {
 public:
  virtual ~LineSink() = default;
  /// One line, without its end. Waits as long as the reader is behind; false if nobody wants any more.
  virtual bool put(std::string_view line) = 0;
  /// False if nobody wants any more: for work that takes long between two lines.
  [[nodiscard]] virtual bool is_wanted() = 0;
  /// Members of the last line.
  virtual void end_with(std::string members) = 0;
};

/// Runs `make` in a thread of its own, which may use only what it owns. When the reader goes before the end, `interrupt` is
/// called in the loop's thread, and `make` must come back soon. `loop` must outlive the source.
std::unique_ptr<LineSource> lines_of_thread(EventLoop& loop, std::function<void(LineSink&)> make,
                                            std::function<void()> interrupt);

}  // namespace asrp::runtime
