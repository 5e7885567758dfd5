// SPDX-License-Identifier: GPL-2.0-or-later
// One thread, one loop: descriptors, signals, timers. One system call for each turn, which waits for all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>

#include "asrp/base/time.hpp"

namespace asrp::runtime {

class EventLoop {
 public:
  using Callback = std::function<void()>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Calls back whenever `descriptor` is readable; what is left unread calls again. The descriptor stays its owner's and must
  /// be unwatched before it is closed. With `pause` the next call comes no sooner than that after the one before: for what
  /// comes in great numbers and is in no hurry.
  void watch(int descriptor, Callback on_readable, Duration pause = Duration::zero());
  /// Calls back once, when a watched descriptor is writable.
  void once_writable(int descriptor, Callback on_writable);
  /// Whether what can be read calls back, as it does at first. An error or a hang-up calls in any case.
  void set_reading(int descriptor, bool wanted);
  void unwatch(int descriptor);

  /// The one timer of the engine: calls back at `at`; a new time replaces the old one.
  void set_timer(TimePoint at, Callback on_time);
  /// Names a call that call_at() has promised; 0 names none. No number comes twice.
  using TimerId = std::uint64_t;
  /// Calls back once, at `at` or as soon after it as the loop has its turn; calls due at once come in the order of their times.
  TimerId call_at(TimePoint at, Callback on_time);
  /// Takes the promise back. Harmless for a call that was made, and for 0.
  void cancel(TimerId timer);
  /// Calls back each `interval` until the loop ends.
  void every(Duration interval, Callback on_time);

  /// Calls back for each of the signals, which are blocked in this thread from now on and in those that it starts. Call once.
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> on_signal);

  /// Calls back in the loop's thread, soon. The only member that other threads may use.
  void post(Callback callback);

  /// Runs until stop(). Gives the thread the scheduling policy SCHED_BATCH, unless it has been given another one than the
  /// usual: it does not interrupt who runs. On a busy processor turns keep a distance (turn_pace.hpp), so that packets gather
  /// and are worked on in bursts; on an idle one nothing waits.
  void run();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace asrp::runtime
