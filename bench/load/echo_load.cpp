// SPDX-License-Identifier: BSD-3-Clause
// The gap that sessions see: each of many TCP sessions sends one octet every 10 ms and waits for it to come back; in the
// middle an event takes place (--event, see EventCommand). The gap of a session is the longest round trip among its exchanges
// from the beginning of the event to the first one that was sent after the event's end, minus its own median before. That is
// the round trip of its first exchange after the loss without having to know the instant of the loss better than the event's
// length, which is printed too. A session is broken if it is reset, or silent for --silence seconds.
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "load/support.hpp"

namespace {

struct Options {
  std::string target;
  std::vector<std::string> sources;
  std::size_t sessions = 1000;
  double interval_ms = 10;
  double before = 3;   // seconds of exchanges before the event
  double after = 5;    // and after it
  double silence = 2;  // seconds
  std::string event;
  std::uint16_t first_port = 10000;
};

struct Session {
  bench::Fd fd;
  std::vector<double> before;  // round trips before the event
  std::int64_t due = 0;        // when the next octet is to be sent
  std::int64_t sent = 0;       // when the outstanding one was, 0: none
  double gap = 0;
  bool measured = false;  // an exchange sent after the event has ended
  bool broken = false;    // reset, or silent for too long
  std::size_t exchanges = 0;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        interval_(static_cast<std::int64_t>(options.interval_ms * 1e6)),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!options.event.empty()) event_.emplace(options.event);
  }

  void run() {
    connect_all();
    const std::int64_t start = bench::now_ns();
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      sessions_[i].due = start + interval_ * static_cast<std::int64_t>(i) / static_cast<std::int64_t>(sessions_.size());
    }
    const std::int64_t event_at = start + static_cast<std::int64_t>(options_.before * 1e9);
    const std::int64_t end = event_at + static_cast<std::int64_t>(options_.after * 1e9);
    while (bench::now_ns() < end) {
      send_due();
      if (event_begin_ == 0 && bench::now_ns() >= event_at) begin_event();
      receive();
    }
    report();
  }

 private:
  static constexpr std::uint64_t kEventTag = ~std::uint64_t{0};

  void watch(int fd, std::uint64_t data) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = data;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) bench::fail("epoll_ctl");
  }

  void connect_all() {
    const auto endpoint = bench::endpoint_of(options_.target);
    const auto target = bench::socket_address(endpoint.address, endpoint.port);
    bench::SourcePorts ports(bench::addresses_of(options_.sources), options_.first_port, 65535);
    sessions_.resize(options_.sessions);
    for (auto& session : sessions_) {
      session.fd = bench::begin_connect(ports.next(), target);
      if (!session.fd.is_open()) bench::fail("connect");
      bench::set_no_delay(session.fd.get());
      bench::reset_on_close(session.fd.get());  // no TIME-WAIT that would keep the next run from the same ports
      if (!wait_connected(session.fd.get())) bench::fail("connect " + options_.target);
      watch(session.fd.get(), static_cast<std::uint64_t>(&session - sessions_.data()));
    }
  }

  static bool wait_connected(int fd) {
    const bench::Fd poll(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLOUT;
    if (::epoll_ctl(poll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return false;
    if (::epoll_wait(poll.get(), &event, 1, 10000) != 1) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
  }

  void send_due() {
    // Sessions are due in the order of their index, again and again; `cursor_` is the next.
    for (std::size_t n = 0; n < sessions_.size(); ++n) {
      auto& session = sessions_[cursor_];
      const std::int64_t now = bench::now_ns();
      if (session.due > now) return;
      session.due = std::max(session.due + interval_, now - interval_);
      cursor_ = (cursor_ + 1) % sessions_.size();
      if (session.broken || session.sent != 0) continue;
      const char octet = 'x';
      session.sent = now;
      if (::send(session.fd.get(), &octet, 1, MSG_NOSIGNAL) != 1) end_broken(session);
    }
  }

  void begin_event() {
    event_begin_ = bench::now_ns();
    if (event_) {
      watch(event_->output(), kEventTag);
      event_->trigger();
    } else {
      event_end_ = event_begin_;
    }
  }

  void receive() {
    std::array<epoll_event, 256> events{};
    const std::int64_t wait = std::max<std::int64_t>(0, sessions_[cursor_].due - bench::now_ns());
    const timespec time{0, std::min<std::int64_t>(wait, 10'000'000)};
    const int n = ::epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &time, nullptr);
    if (n < 0 && errno != EINTR) bench::fail("epoll_wait");
    for (int i = 0; i < n; ++i) {
      const auto data = events[static_cast<std::size_t>(i)].data.u64;
      if (data == kEventTag) {
        event_->expect("done");
        event_end_ = bench::now_ns();
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, event_->output(), nullptr);
      } else {
        take(sessions_[data]);
      }
    }
  }

  void take(Session& session) {
    char data[64];
    const ssize_t n = ::recv(session.fd.get(), data, sizeof data, 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return end_broken(session);
    if (session.sent == 0) return;
    const std::int64_t now = bench::now_ns();
    const auto trip = static_cast<double>(now - session.sent);
    ++session.exchanges;
    if (event_begin_ == 0) {
      session.before.push_back(trip);
    } else if (!session.measured) {
      session.gap = std::max(session.gap, trip);
      session.measured = event_end_ != 0 && session.sent >= event_end_;
    }
    session.sent = 0;
    if (trip > options_.silence * 1e9) end_broken(session);
  }

  void end_broken(Session& session) {
    session.broken = true;
    session.fd.reset();
  }

  void report() {
    std::vector<double> gaps;
    std::vector<double> medians;
    std::size_t broken = 0;
    std::size_t exchanges = 0;
    const std::int64_t now = bench::now_ns();
    for (auto& session : sessions_) {
      const bool silent = session.sent != 0 && now - session.sent > static_cast<std::int64_t>(options_.silence * 1e9);
      exchanges += session.exchanges;
      if (session.broken || silent || !session.measured || session.before.empty()) {
        ++broken;
        continue;
      }
      std::sort(session.before.begin(), session.before.end());
      const double median = bench::percentile(session.before, 0.5);
      medians.push_back(median);
      gaps.push_back(std::max(0.0, session.gap - median));
    }
    const std::string gap = bench::quantiles_ms(gaps);
    const std::string median = bench::quantiles_ms(medians);
    std::printf(R"({"sessions":%zu,"broken":%zu,"exchanges":%zu,"event_ms":%.3f,"gap_ms":%s,"median_round_trip_ms":%s})"
                "\n",
                sessions_.size(), broken, exchanges, static_cast<double>(event_end_ - event_begin_) / 1e6, gap.c_str(),
                median.c_str());
  }

  const Options& options_;
  std::int64_t interval_;
  bench::Fd epoll_;
  std::vector<Session> sessions_;
  std::size_t cursor_ = 0;
  std::optional<bench::EventCommand> event_;
  std::int64_t event_begin_ = 0;
  std::int64_t event_end_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Keeps TCP sessions busy with one octet at a time and measures what an event does to them.");
  app.add_option("--target", options.target, "address:port")->required();
  app.add_option("--source", options.sources, "local addresses to use in turn")->required();
  app.add_option("--sessions", options.sessions, "number of sessions")->check(CLI::Range(1, 16000));
  app.add_option("--interval", options.interval_ms, "milliseconds between two octets of a session");
  app.add_option("--before", options.before, "seconds before the event");
  app.add_option("--after", options.after, "seconds after the event");
  app.add_option("--silence", options.silence, "seconds without an answer that make a session broken");
  app.add_option("--event", options.event, "command of the event");
  app.add_option("--first-port", options.first_port, "lowest source port");
  CLI11_PARSE(app, argc, argv);
  Load(options).run();
}
