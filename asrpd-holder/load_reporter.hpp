// SPDX-License-Identifier: GPL-2.0-or-later
// Tells the nodes how busy this server is, from a thread of its own: a command may take its time, and packets wait for nobody.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "asrpd-holder/load_source.hpp"

namespace asrp::holder {

class LoadReporter {
 public:
  struct Statistics {
    std::uint64_t sent = 0;
    std::uint64_t unsent = 0;      // reports that could not be sent
    std::uint64_t unmeasured = 0;  // times that the source gave nothing: no report is sent
  };
  /// What reporters count, the earlier ones' included.
  struct Counts {
    std::atomic<std::uint64_t> sent = 0, unsent = 0, unmeasured = 0;
    [[nodiscard]] Statistics now() const { return {sent, unsent, unmeasured}; }
  };

  /// Begins. `own`: the addresses to send from, if some are given. `sessions` and `counts` must outlive the object.
  LoadReporter(LoadConfig config, std::vector<IpAddress> own, const std::atomic<std::uint64_t>& sessions, Counts& counts);
  ~LoadReporter();
  LoadReporter(const LoadReporter&) = delete;
  LoadReporter& operator=(const LoadReporter&) = delete;

  /// Ends it, without waiting for a command that runs; the destructor does.
  void stop();
  /// Whether the destructor would not wait.
  [[nodiscard]] bool is_finished() const { return finished_; }

 private:
  void run();
  void report(double part);

  LoadConfig config_;
  std::vector<IpAddress> own_;
  LoadSource source_;
  Counts& counts_;
  std::uint64_t counter_ = 0;
  bool in_trouble_ = false;  // the log was told
  std::mutex mutex_;
  std::condition_variable wake_up_;
  bool stopped_ = false;
  std::atomic<bool> finished_ = false;
  std::thread thread_;  // last: starts when all above is there
};

}  // namespace asrp::holder
