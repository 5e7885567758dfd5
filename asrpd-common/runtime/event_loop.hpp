// SPDX-License-Identifier: GPL-2.0-or-later
// One thread, one loop: descriptors, signals, timers. Boost.Asio is confined to the .cpp.
#pragma once

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
  /// be unwatched before it is closed.
  void watch(int descriptor, Callback on_readable);
  /// Calls back once, when a watched descriptor is writable.
  void once_writable(int descriptor, Callback on_writable);
  void unwatch(int descriptor);

  /// The one timer of the engine: calls back at `at`; a new time replaces the old one.
  void set_timer(TimePoint at, Callback on_time);
  /// Calls back each `interval` until the loop ends.
  void every(Duration interval, Callback on_time);

  /// Calls back for each of the signals. Call once.
  void on_signals(std::initializer_list<int> signals, std::function<void(int)> on_signal);

  /// Calls back in the loop's thread, soon. The only member that other threads may use.
  void post(Callback callback);

  /// Runs until stop().
  void run();
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace asrp::runtime
