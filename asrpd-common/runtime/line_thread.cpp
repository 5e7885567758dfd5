// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/line_thread.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace asrp::runtime {
namespace {

class ThreadLines final : public LineSource, private LineSink {
 public:
  ThreadLines(EventLoop& loop, std::function<void(LineSink&)> make, std::function<void()> interrupt)
      : loop_(loop), make_(std::move(make)), interrupt_(std::move(interrupt)) {}
  ~ThreadLines() override {
    bool working = false;
    {
      const std::lock_guard lock(mutex_);
      unwanted_ = true;
      working = !done_;
    }
    taken_.notify_one();
    if (working && interrupt_) interrupt_();
    if (thread_.joinable()) thread_.join();
  }

  void on_more(std::function<void()> wake) override {
    wake_ = std::move(wake);
    thread_ = std::thread([this] { work(); });
  }

  More append(std::string& out) override {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) {
      reader_waits_ = !done_;
      return done_ ? More::no : More::later;
    }
    out += ready_;
    ready_.clear();
    taken_.notify_one();
    return More::yes;
  }

  std::string end_members() override { return end_members_; }

 private:
  void work() {
    make_(*this);
    hand_over();
    const std::lock_guard lock(mutex_);
    done_ = true;
    wake_reader();
  }

  bool put(std::string_view line) override {
    building_ += line;
    building_ += '\n';
    if (building_.size() < kPiece) return true;
    return hand_over();
  }
  bool is_wanted() override {
    const std::lock_guard lock(mutex_);
    return !unwanted_;
  }
  void end_with(std::string members) override { end_members_ = std::move(members); }

  /// Waits until the piece before is taken: there are never more than two of them.
  bool hand_over() {
    std::unique_lock lock(mutex_);
    taken_.wait(lock, [this] { return unwanted_ || ready_.empty(); });
    if (unwanted_) return false;
    ready_.swap(building_);
    wake_reader();
    return true;
  }

  void wake_reader() {
    if (std::exchange(reader_waits_, false)) loop_.post(wake_);
  }

  EventLoop& loop_;
  std::function<void(LineSink&)> make_;
  std::function<void()> interrupt_;
  std::function<void()> wake_;
  std::string building_;     // the thread's
  std::string end_members_;  // the thread's until it is done
  std::mutex mutex_;         // all below
  std::condition_variable taken_;
  std::string ready_;
  bool reader_waits_ = false;
  bool unwanted_ = false;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<LineSource> lines_of_thread(EventLoop& loop, std::function<void(LineSink&)> make,
                                            std::function<void()> interrupt) {
  return std::make_unique<ThreadLines>(loop, std::move(make), std::move(interrupt));
}

}  // namespace asrp::runtime
