// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/event_loop.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <map>
#include <optional>
#include <vector>

namespace asrp::runtime {
namespace asio = boost::asio;

namespace {

struct Watched {
  Watched(asio::io_context& context, int fd, EventLoop::Callback callback)
      : descriptor(context, fd), on_readable(std::move(callback)) {}
  ~Watched() { stop(); }
  void stop() {
    if (!descriptor.is_open()) return;
    descriptor.cancel();
    descriptor.release();  // the descriptor is its owner's to close
  }
  asio::posix::stream_descriptor descriptor;
  EventLoop::Callback on_readable;
};

void wait_readable(const std::shared_ptr<Watched>& watched) {
  // A weak reference: unwatch() may come from inside the callback.
  std::weak_ptr<Watched> weak = watched;
  watched->descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [weak](const boost::system::error_code& error) {
    const std::shared_ptr<Watched> self = weak.lock();
    if (error || !self || !self->descriptor.is_open()) return;
    self->on_readable();
    if (self->descriptor.is_open()) wait_readable(self);
  });
}

}  // namespace

struct EventLoop::Impl {
  asio::io_context context;
  asio::steady_timer timer{context};
  std::optional<asio::signal_set> signals;
  std::map<int, std::shared_ptr<Watched>> watched;
  std::vector<std::unique_ptr<asio::steady_timer>> periodic;

  void repeat(asio::steady_timer& each, Duration interval, Callback on_time) {
    each.expires_after(interval);
    each.async_wait([this, &each, interval, on_time = std::move(on_time)](const boost::system::error_code& error) {
      if (error) return;
      on_time();
      repeat(each, interval, on_time);
    });
  }

  void wait_signal(const std::function<void(int)>& on_signal) {
    signals->async_wait([this, on_signal](const boost::system::error_code& error, int number) {
      if (error) return;
      on_signal(number);
      wait_signal(on_signal);
    });
  }
};

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  // A reader that has gone (of a log, of the control socket, a child) is an error of write(), not the end of the daemon.
  std::signal(SIGPIPE, SIG_IGN);
}
EventLoop::~EventLoop() { impl_->watched.clear(); }

void EventLoop::watch(int descriptor, Callback on_readable) {
  auto watched = std::make_shared<Watched>(impl_->context, descriptor, std::move(on_readable));
  impl_->watched[descriptor] = watched;
  wait_readable(watched);
}

void EventLoop::once_writable(int descriptor, Callback on_writable) {
  const auto found = impl_->watched.find(descriptor);
  if (found == impl_->watched.end()) return;
  std::weak_ptr<Watched> weak = found->second;
  found->second->descriptor.async_wait(asio::posix::stream_descriptor::wait_write,
                                       [weak, on_writable = std::move(on_writable)](const boost::system::error_code& error) {
                                         if (!error && weak.lock()) on_writable();
                                       });
}

void EventLoop::unwatch(int descriptor) {
  const auto found = impl_->watched.find(descriptor);
  if (found == impl_->watched.end()) return;
  found->second->stop();
  impl_->watched.erase(found);
}

void EventLoop::set_timer(TimePoint at, Callback on_time) {
  impl_->timer.expires_at(std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(at.time_since_epoch())));
  impl_->timer.async_wait([on_time = std::move(on_time)](const boost::system::error_code& error) {
    if (!error) on_time();
  });
}

void EventLoop::every(Duration interval, Callback on_time) {
  impl_->periodic.push_back(std::make_unique<asio::steady_timer>(impl_->context));
  impl_->repeat(*impl_->periodic.back(), interval, std::move(on_time));
}

void EventLoop::on_signals(std::initializer_list<int> signals, std::function<void(int)> on_signal) {
  impl_->signals.emplace(impl_->context);
  for (const int number : signals) impl_->signals->add(number);
  impl_->wait_signal(on_signal);
}

void EventLoop::post(Callback callback) { asio::post(impl_->context, std::move(callback)); }

void EventLoop::run() { impl_->context.run(); }
void EventLoop::stop() { impl_->context.stop(); }

}  // namespace asrp::runtime
