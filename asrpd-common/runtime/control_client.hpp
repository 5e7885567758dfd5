// SPDX-License-Identifier: GPL-2.0-or-later
// One connection of the control socket: reads a request, has it answered, writes the answer as fast as the client takes it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "asrp/base/time.hpp"
#include "io/unique_fd.hpp"
#include "runtime/control_command.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

class ControlClient final : public AnswerChannel, public std::enable_shared_from_this<ControlClient> {
 public:
  struct Calls {
    std::function<void(std::string_view line, const ControlAnswer&)> on_request;
    std::function<void()> on_subscribed;
    std::function<void()> on_end;  // closed: the owner drops it
  };

  ControlClient(EventLoop& loop, io::UniqueFd fd, Calls calls, Duration stall);
  ~ControlClient() override;
  ControlClient(const ControlClient&) = delete;
  ControlClient& operator=(const ControlClient&) = delete;

  /// Begins to read. After the owner has its shared pointer.
  void begin();
  void answer(const std::string& line, std::unique_ptr<LineSource> source) override;
  void subscribe() override;

  [[nodiscard]] bool wants_events() const { return wants_events_; }
  /// An event line, or one more that is lost.
  void publish(const std::string& line);

  /// Neither in the middle of an answer nor waiting for events.
  [[nodiscard]] bool is_idle() const { return !answering_ && !wants_events_ && output_.empty(); }
  /// When it last asked, or took anything of an answer.
  [[nodiscard]] TimePoint last_active() const { return last_active_; }

 private:
  /// Leaves an answer unread. Events do not count: who reads them slowly loses some.
  [[nodiscard]] bool is_behind() const {
    return source_ ? !output_.empty() || !source_waits_ : !output_.empty() && !wants_events_;
  }
  void watch_progress();
  void on_readable();
  void take_requests();
  void write_soon();
  void write();
  void produce();
  void finish_answer();
  void end();

  EventLoop& loop_;
  io::UniqueFd fd_;
  Calls calls_;
  std::string input_;
  std::string output_;
  std::unique_ptr<LineSource> source_;
  bool answering_ = false;     // the request's answer is not wholly handed over
  bool taking_ = false;        // inside take_requests()
  bool input_ended_ = false;   // the client has said all; what it asked for is still answered
  bool source_waits_ = false;  // the source has nothing just now
  bool writing_ = false;       // a callback for writability is due
  bool ended_ = false;
  bool wants_events_ = false;
  std::uint64_t lost_ = 0;
  Duration stall_;
  EventLoop::TimerId stall_timer_ = 0;
  TimePoint last_active_;
};

}  // namespace asrp::runtime
