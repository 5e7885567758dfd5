// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/event_loop.hpp"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "io/unique_fd.hpp"
#include "runtime/clock.hpp"
#include "runtime/turn_pace.hpp"

namespace asrp::runtime {

namespace {

constexpr std::size_t kEvents = 16;  // of one turn; what is beyond comes in the next

struct Watched {
  int descriptor;
  EventLoop::Callback on_readable;
  EventLoop::Callback on_writable;
  Duration pause;
  std::optional<TimePoint> resume;  // pauses until then
  bool reading = true;
};

struct Periodic {
  Duration interval;
  TimePoint next;
  EventLoop::Callback on_time;
};

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void do_not_interrupt() {
  if (::sched_getscheduler(0) != SCHED_OTHER) return;
  const sched_param unused{};
  ::sched_setscheduler(0, SCHED_BATCH, &unused);  // where it is forbidden the daemon works all the same
}

timespec to_timespec(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  return {seconds.count(), std::chrono::duration_cast<std::chrono::nanoseconds>(duration - seconds).count()};
}

// Signals come through a descriptor, so that none cuts it short.
void sleep(Duration duration) {
  if (duration <= Duration::zero()) return;
  const timespec left = to_timespec(duration);
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, nullptr);
}

}  // namespace

struct EventLoop::Impl {
  io::UniqueFd epoll;
  io::UniqueFd wake_up;  // posts wait
  io::UniqueFd signals;
  sigset_t mask_before{};
  bool stopped = false;

  // By a number that never comes again: a descriptor's may, within one turn.
  std::map<std::uint64_t, std::shared_ptr<Watched>> watched;
  std::map<int, std::uint64_t> numbers;
  std::uint64_t last_number = 0;
  std::size_t paused = 0;

  std::optional<TimePoint> timer_at;
  Callback on_timer;
  std::vector<std::unique_ptr<Periodic>> periodic;
  std::map<std::pair<TimePoint, TimerId>, Callback> promised;
  std::map<TimerId, TimePoint> promised_at;
  TimerId last_timer = 0;

  std::mutex mutex;
  std::vector<Callback> posted;

  void set_interest(int operation, std::uint64_t number, const Watched& w);
  void pause(std::uint64_t number, Watched& w);
  void resume(TimePoint now);
  void dispatch(const epoll_event& event);
  void take_posts();
  void fire_timers();
  void keep_promises(TimePoint now);
  std::optional<TimePoint> next_due() const;
  int wait(std::array<epoll_event, kEvents>& events) const;
};

void EventLoop::Impl::set_interest(int operation, std::uint64_t number, const Watched& w) {
  epoll_event event{};
  // One shot where there are pauses: not even an error calls during one.
  event.events =
      (w.reading ? EPOLLIN : 0u) | (w.on_writable ? EPOLLOUT : 0u) | (w.pause > Duration::zero() ? EPOLLONESHOT : 0u);
  event.data.u64 = number;
  if (::epoll_ctl(epoll.get(), operation, w.descriptor, &event) != 0) fail("watch a descriptor");
}

void EventLoop::Impl::pause(std::uint64_t number, Watched& w) {
  if (w.pause <= Duration::zero() || watched.count(number) == 0) return;
  w.resume = monotonic_now() + w.pause;
  ++paused;
}

void EventLoop::Impl::resume(TimePoint now) {
  if (paused == 0) return;
  for (auto& [number, w] : watched) {
    if (!w->resume || *w->resume > now) continue;
    w->resume.reset();
    --paused;
    set_interest(EPOLL_CTL_MOD, number, *w);
  }
}

void EventLoop::Impl::dispatch(const epoll_event& event) {
  const std::uint64_t number = event.data.u64;
  const auto found = watched.find(number);
  if (found == watched.end()) return;                // unwatched by a call before this one
  const std::shared_ptr<Watched> w = found->second;  // it may unwatch itself
  if (w->on_writable && (event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
    const Callback on_writable = std::exchange(w->on_writable, {});
    set_interest(EPOLL_CTL_MOD, number, *w);
    on_writable();
    if (watched.count(number) == 0) return;
  }
  if ((event.events & (EPOLLIN | EPOLLERR | EPOLLHUP)) == 0) return;
  w->on_readable();
  pause(number, *w);
}

void EventLoop::Impl::take_posts() {
  std::uint64_t value = 0;
  static_cast<void>(::read(wake_up.get(), &value, sizeof value) == sizeof value);
  std::vector<Callback> taken;
  {
    const std::lock_guard lock(mutex);
    taken.swap(posted);
  }
  for (const Callback& each : taken) each();
}

std::optional<TimePoint> EventLoop::Impl::next_due() const {
  std::optional<TimePoint> next = timer_at;
  const auto earlier = [&next](TimePoint at) { next = next ? std::min(*next, at) : at; };
  for (const auto& each : periodic) earlier(each->next);
  if (!promised.empty()) earlier(promised.begin()->first.first);
  if (paused != 0)
    for (const auto& [number, w] : watched)
      if (w->resume) earlier(*w->resume);
  return next;
}

void EventLoop::Impl::fire_timers() {
  const TimePoint now = monotonic_now();
  resume(now);
  if (timer_at && *timer_at <= now) {
    timer_at.reset();
    const Callback on_time = std::exchange(on_timer, {});
    on_time();
  }
  for (std::size_t i = 0; i < periodic.size(); ++i) {  // a call may add one
    Periodic& each = *periodic[i];
    if (each.next > now) continue;
    each.next = now + each.interval;
    each.on_time();
  }
  keep_promises(now);
}

/// A call may promise another one, even one that is due already: that one has its turn after the descriptors'.
void EventLoop::Impl::keep_promises(TimePoint now) {
  const TimerId last = last_timer;
  for (auto next = promised.begin(); next != promised.end() && next->first.first <= now;) {
    if (next->first.second > last) {
      ++next;
      continue;
    }
    const Callback on_time = std::move(next->second);
    promised_at.erase(next->first.second);
    promised.erase(next);
    on_time();
    next = promised.begin();  // it may have taken others back
  }
}

int EventLoop::Impl::wait(std::array<epoll_event, kEvents>& events) const {
  timespec left{};
  const auto next = next_due();
  if (next) left = to_timespec(std::max(Duration::zero(), *next - monotonic_now()));
  const int got = ::epoll_pwait2(epoll.get(), events.data(), kEvents, next ? &left : nullptr, nullptr);
  if (got < 0 && errno != EINTR) fail("wait for events");
  return got;
}

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {
  // A reader that has gone (of a log, of the control socket, a child) is an error of write(), not the end of the daemon.
  std::signal(SIGPIPE, SIG_IGN);
  impl_->epoll = io::UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!impl_->epoll) fail("make an epoll descriptor");
  impl_->wake_up = io::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl_->wake_up) fail("make an event descriptor");
  watch(impl_->wake_up.get(), [this] { impl_->take_posts(); });
}

EventLoop::~EventLoop() {
  if (impl_->signals) ::pthread_sigmask(SIG_SETMASK, &impl_->mask_before, nullptr);
}

void EventLoop::watch(int descriptor, Callback on_readable, Duration pause) {
  unwatch(descriptor);
  const std::uint64_t number = ++impl_->last_number;
  auto watched = std::make_shared<Watched>(Watched{descriptor, std::move(on_readable), {}, pause, {}, true});
  impl_->set_interest(EPOLL_CTL_ADD, number, *watched);
  impl_->watched[number] = std::move(watched);
  impl_->numbers[descriptor] = number;
}

void EventLoop::once_writable(int descriptor, Callback on_writable) {
  const auto found = impl_->numbers.find(descriptor);
  if (found == impl_->numbers.end()) return;
  Watched& w = *impl_->watched[found->second];
  w.on_writable = std::move(on_writable);
  impl_->set_interest(EPOLL_CTL_MOD, found->second, w);
}

void EventLoop::set_reading(int descriptor, bool wanted) {
  const auto found = impl_->numbers.find(descriptor);
  if (found == impl_->numbers.end()) return;
  Watched& w = *impl_->watched[found->second];
  if (w.reading == wanted) return;
  w.reading = wanted;
  impl_->set_interest(EPOLL_CTL_MOD, found->second, w);
}

void EventLoop::unwatch(int descriptor) {
  const auto found = impl_->numbers.find(descriptor);
  if (found == impl_->numbers.end()) return;
  if (impl_->watched[found->second]->resume) --impl_->paused;
  impl_->watched.erase(found->second);
  impl_->numbers.erase(found);
  ::epoll_ctl(impl_->epoll.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void EventLoop::set_timer(TimePoint at, Callback on_time) {
  impl_->timer_at = at;
  impl_->on_timer = std::move(on_time);
}

EventLoop::TimerId EventLoop::call_at(TimePoint at, Callback on_time) {
  const TimerId timer = ++impl_->last_timer;
  impl_->promised.emplace(std::pair(at, timer), std::move(on_time));
  impl_->promised_at.emplace(timer, at);
  return timer;
}

void EventLoop::cancel(TimerId timer) {
  const auto found = impl_->promised_at.find(timer);
  if (found == impl_->promised_at.end()) return;
  impl_->promised.erase({found->second, timer});
  impl_->promised_at.erase(found);
}

void EventLoop::every(Duration interval, Callback on_time) {
  impl_->periodic.push_back(std::make_unique<Periodic>(Periodic{interval, monotonic_now() + interval, std::move(on_time)}));
}

void EventLoop::on_signals(std::initializer_list<int> signals, std::function<void(int)> on_signal) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : signals) sigaddset(&wanted, number);
  if (::pthread_sigmask(SIG_BLOCK, &wanted, &impl_->mask_before) != 0) fail("block signals");
  impl_->signals = io::UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!impl_->signals) fail("make a signal descriptor");
  watch(impl_->signals.get(), [this, on_signal = std::move(on_signal)] {
    signalfd_siginfo info{};
    if (::read(impl_->signals.get(), &info, sizeof info) == sizeof info) on_signal(static_cast<int>(info.ssi_signo));
  });
}

void EventLoop::post(Callback callback) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->posted.push_back(std::move(callback));
  }
  const std::uint64_t one = 1;
  static_cast<void>(::write(impl_->wake_up.get(), &one, sizeof one) == sizeof one);
}

void EventLoop::run() {
  do_not_interrupt();
  std::array<epoll_event, kEvents> events{};
  TurnPace pace(monotonic_now());
  while (!impl_->stopped) {
    sleep(pace.rest(monotonic_now()));
    const int got = impl_->wait(events);
    for (int i = 0; i < got && !impl_->stopped; ++i) impl_->dispatch(events[static_cast<std::size_t>(i)]);
    if (!impl_->stopped) impl_->fire_timers();
  }
}

void EventLoop::stop() { impl_->stopped = true; }

}  // namespace asrp::runtime
