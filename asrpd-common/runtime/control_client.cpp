// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/control_client.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "runtime/clock.hpp"
#include "runtime/control_socket.hpp"

namespace asrp::runtime {

ControlClient::ControlClient(EventLoop& loop, io::UniqueFd fd, Calls calls, Duration stall)
    : loop_(loop), fd_(std::move(fd)), calls_(std::move(calls)), stall_(stall), last_active_(monotonic_now()) {}

ControlClient::~ControlClient() {
  loop_.cancel(stall_timer_);
  loop_.unwatch(fd_.get());
}

void ControlClient::begin() {
  loop_.watch(fd_.get(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_readable();
  });
}

/// Without interest in reading only an error or a hang-up calls: then nobody is there for the answer.
void ControlClient::on_readable() {
  if (answering_ || input_ended_) return end();
  std::array<char, ControlSocket::kMaxRequest> chunk{};
  const ssize_t size = ::read(fd_.get(), chunk.data(), chunk.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size < 0) return end();
  last_active_ = monotonic_now();
  input_ended_ = size == 0;
  input_.append(chunk.data(), static_cast<std::size_t>(size));
  take_requests();
  write();
}

/// One after the other: the next line waits until the answer to the one before is handed over and taken; where events come in
/// between, until there is room again.
void ControlClient::take_requests() {
  if (std::exchange(taking_, true)) return;
  const auto has_room = [this] { return output_.empty() || (wants_events_ && output_.size() < ControlSocket::kMaxEvents); };
  while (!ended_ && !answering_ && has_room()) {
    const std::size_t end = input_.find('\n');
    if (end == std::string::npos || end > ControlSocket::kMaxRequest) break;
    const std::string line = input_.substr(0, end);
    input_.erase(0, end + 1);
    answering_ = true;
    calls_.on_request(line, ControlAnswer(weak_from_this()));
  }
  taking_ = false;
  const std::size_t line_end = input_.find('\n');
  if (!answering_ && !input_ended_ && input_.size() > ControlSocket::kMaxRequest &&
      (line_end == std::string::npos || line_end > ControlSocket::kMaxRequest)) {
    output_ += "{\"ok\":false,\"error\":\"a request has at most " + std::to_string(ControlSocket::kMaxRequest) +
               " octets\",\"kind\":\"request\"}\n";
    input_.clear();
    input_ended_ = true;
  }
  const bool unanswered = input_.find('\n') != std::string::npos;
  loop_.set_reading(fd_.get(), !answering_ && !input_ended_ && !unanswered);
}

void ControlClient::answer(const std::string& line, std::unique_ptr<LineSource> source) {
  if (ended_) return;
  last_active_ = monotonic_now();  // from now on it is the client's turn
  output_ += line;
  output_ += '\n';
  source_ = std::move(source);
  if (source_) {
    source_->on_more([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || !self->source_waits_) return;
      self->source_waits_ = false;
      self->write_soon();
    });
  } else {
    answering_ = false;
  }
  write_soon();
}

void ControlClient::subscribe() {
  wants_events_ = true;
  calls_.on_subscribed();
}

void ControlClient::publish(const std::string& line) {
  if (ended_ || !wants_events_) return;
  if (output_.size() + line.size() > ControlSocket::kMaxEvents) {
    ++lost_;
    return;
  }
  if (lost_ > 0) output_ += "{\"lost\":" + std::to_string(std::exchange(lost_, 0)) + "}\n";
  output_ += line;
  output_ += '\n';
  // Written when the loop comes round: events are published in the middle of a burst, and a burst goes out in one write.
  write_soon();
}

void ControlClient::write_soon() {
  if (ended_ || std::exchange(writing_, true)) return;
  loop_.once_writable(fd_.get(), [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->writing_ = false;
    self->write();
  });
}

/// One piece of a long answer a turn: packets get their turn between them.
void ControlClient::write() {
  if (ended_) return;
  produce();
  while (!output_.empty()) {
    const ssize_t size = ::send(fd_.get(), output_.data(), output_.size(), MSG_NOSIGNAL);
    if (size > 0) {
      last_active_ = monotonic_now();
      output_.erase(0, static_cast<std::size_t>(size));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return end();
    watch_progress();
    return write_soon();
  }
  if (source_) {
    if (source_waits_) return;
    watch_progress();  // the socket may be full to the last octet
    return write_soon();
  }
  if (answering_) return;
  take_requests();  // the next one, which waited
  if (!output_.empty() || answering_) return;
  if (input_ended_ && !wants_events_) end();
}

void ControlClient::watch_progress() {
  if (stall_timer_ != 0) return;
  stall_timer_ = loop_.call_at(last_active_ + stall_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->stall_timer_ = 0;
    if (!self->is_behind()) return;
    if (monotonic_now() - self->last_active_ >= self->stall_) return self->end();
    self->watch_progress();
  });
}

void ControlClient::produce() {
  if (!source_ || source_waits_ || output_.size() >= LineSource::kPiece) return;
  switch (source_->append(output_)) {
    case LineSource::More::yes:
      return;
    case LineSource::More::later:
      source_waits_ = true;
      return;
    case LineSource::More::no:
      finish_answer();
      return;
  }
}

void ControlClient::finish_answer() {
  const std::string members = source_->end_members();
  output_ += "{\"end\":true" + (members.empty() ? "" : "," + members) + "}\n";
  source_.reset();
  answering_ = false;
}

void ControlClient::end() {
  if (std::exchange(ended_, true)) return;
  source_.reset();
  loop_.unwatch(fd_.get());
  fd_ = io::UniqueFd();
  calls_.on_end();
}

}  // namespace asrp::runtime
