// SPDX-License-Identifier: GPL-2.0-or-later
// A loop's timer for an engine that says when it wants to be called next.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "runtime/event_loop.hpp"

namespace asrp::frame {

class EngineTimer {
 public:
  using Next = std::function<std::optional<TimePoint>()>;

  /// `loop` must outlive the object; `due` is called when `next` has come.
  EngineTimer(runtime::EventLoop& loop, Next next, std::function<void()> due)
      : loop_(loop), next_(std::move(next)), due_(std::move(due)) {}

  /// After every input that may change when the engine wants to be called. Waking up too early is harmless and rare, setting
  /// the timer after every burst is a system call.
  void arm() {
    const auto at = next_();
    if (!at || (armed_ && *armed_ <= *at)) return;
    armed_ = at;
    loop_.set_timer(*at, [this] {
      armed_.reset();
      due_();
      arm();
    });
  }

 private:
  runtime::EventLoop& loop_;
  Next next_;
  std::function<void()> due_;
  std::optional<TimePoint> armed_;  // what the loop's timer is set to
};

}  // namespace asrp::frame
