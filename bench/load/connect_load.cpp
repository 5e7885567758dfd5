// SPDX-License-Identifier: BSD-3-Clause
// New connections per second: connect, send one octet, get one back, close with RST; a fixed number of them in flight.
// Prints one JSON object. A connection that isn't done after --limit seconds is closed and counted as failed.
#include <sys/epoll.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

#include "load/support.hpp"

namespace {

struct Options {
  std::string target;
  std::vector<std::string> sources;
  double seconds = 3;
  std::size_t in_flight = 128;
  double limit = 5;
  std::uint16_t first_port = 1024;
  std::uint16_t last_port = 65535;
};

struct Slot {
  bench::Fd fd;
  std::int64_t begun = 0;
  bool sent = false;
};

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options),
        target_(bench::socket_address(bench::endpoint_of(options.target).address, bench::endpoint_of(options.target).port)),
        ports_(bench::addresses_of(options.sources), options.first_port, options.last_port),
        epoll_(::epoll_create1(EPOLL_CLOEXEC)),
        slots_(options.in_flight) {}

  void run() {
    const std::int64_t start = bench::now_ns();
    const std::int64_t end = start + static_cast<std::int64_t>(options_.seconds * 1e9);
    for (std::size_t i = 0; i < slots_.size(); ++i) begin(i);
    std::int64_t next_sweep = start;
    std::array<epoll_event, 256> events{};
    while (bench::now_ns() < end) {
      const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 100);
      if (n < 0 && errno != EINTR) bench::fail("epoll_wait");
      for (int i = 0; i < n; ++i) progress(static_cast<std::size_t>(events[static_cast<std::size_t>(i)].data.u64));
      if (bench::now_ns() >= next_sweep) {
        sweep();
        next_sweep = bench::now_ns() + 100'000'000;
      }
    }
    report(static_cast<double>(bench::now_ns() - start) / 1e9);
  }

 private:
  void begin(std::size_t index) {
    auto& slot = slots_[index];
    do {
      slot.begun = bench::now_ns();
      slot.fd = bench::begin_connect(ports_.next(), target_);
    } while (!slot.fd.is_open());
    bench::reset_on_close(slot.fd.get());
    bench::set_no_delay(slot.fd.get());
    slot.sent = false;
    epoll_event event{};
    event.events = EPOLLOUT;
    event.data.u64 = index;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, slot.fd.get(), &event) != 0) bench::fail("epoll_ctl");
  }

  void progress(std::size_t index) {
    auto& slot = slots_[index];
    char octet = 'x';
    if (!slot.sent) {
      if (::send(slot.fd.get(), &octet, 1, MSG_NOSIGNAL) != 1) return end_of(index, false);
      slot.sent = true;
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = index;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, slot.fd.get(), &event);
      return;
    }
    const ssize_t n = ::recv(slot.fd.get(), &octet, 1, 0);
    if (n < 0 && errno == EAGAIN) return;
    end_of(index, n == 1);
  }

  void end_of(std::size_t index, bool good) {
    if (good) {
      latencies_.push_back(static_cast<double>(bench::now_ns() - slots_[index].begun));
    } else {
      ++refused_;
    }
    begin(index);
  }

  void sweep() {
    const std::int64_t oldest = bench::now_ns() - static_cast<std::int64_t>(options_.limit * 1e9);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].begun >= oldest) continue;
      ++expired_;
      begin(i);
    }
  }

  void report(double seconds) {
    const std::size_t done = latencies_.size();
    // Slower than a retransmission of the SYN: finished after 1 s, or still waiting.
    std::size_t slow = expired_;
    for (const double latency : latencies_) slow += latency > 1e9;
    for (const Slot& slot : slots_) slow += bench::now_ns() - slot.begun > 1'000'000'000;
    const std::string latency = bench::quantiles_ms(latencies_);
    std::printf(R"({"connections":%zu,"failed":%zu,"refused":%zu,"slow":%zu,"seconds":%.3f,"per_second":%.1f,"latency_ms":%s})"
                "\n",
                done, refused_ + expired_, refused_, slow, seconds, static_cast<double>(done) / seconds, latency.c_str());
  }

  const Options& options_;
  bench::SocketAddress target_;
  bench::SourcePorts ports_;
  bench::Fd epoll_;
  std::vector<Slot> slots_;
  std::vector<double> latencies_;
  std::size_t refused_ = 0;  // reset, or closed without an answer
  std::size_t expired_ = 0;  // not done within the limit
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Opens, uses and resets TCP connections as fast as it can.");
  app.add_option("--target", options.target, "address:port")->required();
  app.add_option("--source", options.sources, "local addresses to use in turn")->required();
  app.add_option("--seconds", options.seconds, "how long");
  app.add_option("--in-flight", options.in_flight, "connections at the same time")->check(CLI::Range(1, 16000));
  app.add_option("--limit", options.limit, "seconds after which a connection has failed");
  app.add_option("--first-port", options.first_port, "lowest source port");
  app.add_option("--last-port", options.last_port, "highest source port");
  CLI11_PARSE(app, argc, argv);
  Load(options).run();
}
