// SPDX-License-Identifier: BSD-3-Clause
// Recoveries per second: opens many TCP sessions, lets an event empty the node's tables, then sends one octet on each session,
// with at most --window of them on their way (the receiver, echo_server --sink, counts in the shared page). The rate is
// sessions / (the receiver's application got the last octet - the first one was about to be sent), which is no more than
// what a capture at the node would give. Retransmissions of the client's stack are printed: a packet that was dropped and
// came again is seen there, and makes the figure invalid.
// Several processes share the sessions, because of the limit of open files.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "load/support.hpp"

namespace {

struct Options {
  std::string target;
  std::vector<std::string> sources;
  std::size_t sessions = 100'000;
  std::size_t processes = 8;
  std::uint64_t window = 512;  // below what a client's retransmission timer allows for
  std::size_t in_flight = 64;
  double limit = 20;  // seconds without progress that end the measurement
  std::string event;
  std::string page;
};

/// One process with its share of the sessions: opens them, says so, waits for its turn, sends one octet on each.
class Worker {
 public:
  Worker(const Options& options, bench::SharedPage& page, std::size_t index)
      : options_(options), page_(page), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    count_ = options.sessions / options.processes;
    begin_ = index * count_;
    if (index + 1 == options.processes) count_ = options.sessions - begin_;
  }

  void open_all() {
    const auto endpoint = bench::endpoint_of(options_.target);
    const auto target = bench::socket_address(endpoint.address, endpoint.port);
    bench::SourcePorts ports(bench::addresses_of(options_.sources), 1024, 65535);
    for (std::size_t i = 0; i < begin_; ++i) ports.next();
    std::size_t pending = 0;
    while (sockets_.size() < count_ || pending > 0) {
      if (sockets_.size() < count_ && pending < options_.in_flight) {
        sockets_.push_back(bench::begin_connect(ports.next(), target));
        if (!sockets_.back().is_open()) bench::fail("connect");
        epoll_event event{};
        event.events = EPOLLOUT;
        event.data.fd = sockets_.back().get();
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event.data.fd, &event);
        ++pending;
        if (pending < options_.in_flight) continue;
      }
      pending -= finish_some();
    }
  }

  /// `sent` octets have been sent by all workers before this one.
  void send_all(std::uint64_t sent) {
    const char octet = 'x';
    for (auto& socket : sockets_) {
      std::int64_t since = bench::now_ns();
      std::uint64_t received = page_.received.load(std::memory_order_acquire);
      while (sent - received >= options_.window) {
        ::usleep(50);  // the processor belongs to those who are measured
        const std::uint64_t now = page_.received.load(std::memory_order_acquire);
        if (now != received) since = bench::now_ns();
        received = now;
        if (static_cast<double>(bench::now_ns() - since) > options_.limit * 1e9) return;
      }
      if (::send(socket.get(), &octet, 1, MSG_NOSIGNAL) != 1) bench::fail("send");
      ++sent;
    }
  }

 private:
  std::size_t finish_some() {
    std::array<epoll_event, 64> events{};
    const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 10000);
    if (n <= 0) bench::fail("no connection within 10 s");
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
      errno = error;
      if (error != 0) bench::fail("connect " + options_.target);
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      bench::set_no_delay(fd);
      bench::reset_on_close(fd);
    }
    return static_cast<std::size_t>(n);
  }

  const Options& options_;
  bench::SharedPage& page_;
  bench::Fd epoll_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::vector<bench::Fd> sockets_;
};

/// A child and the two pipes to it.
struct Child {
  bench::Fd to;
  bench::Fd from;

  void tell(std::uint64_t value) {
    if (::write(to.get(), &value, sizeof value) != sizeof value) bench::fail("worker");
  }
  void wait() {
    char c = 0;
    if (::read(from.get(), &c, 1) != 1) bench::fail("a worker ended");
  }
};

Child start_worker(const Options& options, bench::SharedPage& page, std::size_t index) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) bench::fail("pipe");
  const pid_t pid = ::fork();
  if (pid < 0) bench::fail("fork");
  if (pid > 0) {
    ::close(to[0]);
    ::close(from[1]);
    return {bench::Fd(to[1]), bench::Fd(from[0])};
  }
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::close(to[1]);
  ::close(from[0]);
  Worker worker(options, page, index);
  std::uint64_t value = 0;
  const auto next = [&] { return ::read(to[0], &value, sizeof value) == sizeof value; };
  const auto done = [&] { return ::write(from[1], "d", 1) == 1; };
  if (next()) worker.open_all();
  if (done() && next()) worker.send_all(value);
  if (done()) next();  // keeps the sockets until the parent is through
  ::_exit(0);
}

/// TCP segments that the stack of this namespace has sent again, from /proc/net/snmp.
std::uint64_t retransmitted() {
  std::ifstream file("/proc/thread-self/net/snmp");
  std::string line;
  std::vector<std::string> names;
  while (std::getline(file, line)) {
    if (line.rfind("Tcp:", 0) != 0) continue;
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (names.empty()) {
      names = fields;
      continue;
    }
    for (std::size_t i = 0; i < names.size() && i < fields.size(); ++i) {
      if (names[i] == "RetransSegs") return std::stoull(fields[i]);
    }
  }
  bench::fail("no RetransSegs in /proc/net/snmp");
}

/// Waits until all octets have arrived or none has for the time limit; returns how many did.
std::uint64_t wait_for_all(const Options& options, const bench::SharedPage& page) {
  std::int64_t since = bench::now_ns();
  std::uint64_t received = page.received.load();
  while (received < options.sessions && static_cast<double>(bench::now_ns() - since) < options.limit * 1e9) {
    ::usleep(2000);
    const std::uint64_t now = page.received.load();
    if (now != received) since = bench::now_ns();
    received = now;
  }
  return received;
}

int run(const Options& options) {
  auto& page = bench::map_page(options.page, false);
  std::vector<Child> children;
  for (std::size_t i = 0; i < options.processes; ++i) children.push_back(start_worker(options, page, i));
  for (auto& child : children) {
    child.tell(0);
    child.wait();
  }
  bench::EventCommand event(options.event);
  page.received.store(0);
  event.trigger();
  event.expect("done");

  const std::uint64_t again_before = retransmitted();
  const std::int64_t start = bench::now_ns();
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    children[i].tell(sent);
    children[i].wait();
    sent += options.sessions / options.processes;
  }
  const std::uint64_t received = wait_for_all(options, page);
  const double seconds = static_cast<double>(page.last_ns.load() - start) / 1e9;
  const std::uint64_t again = retransmitted() - again_before;
  std::printf(R"({"sessions":%zu,"lost":%lu,"retransmitted":%lu,"seconds":%.4f,"per_second":%.0f})"
              "\n",
              options.sessions, options.sessions - received, again, seconds, static_cast<double>(received) / seconds);
  return received == options.sessions ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Loses the sessions of a node and has all of them recovered at once.");
  app.add_option("--target", options.target, "address:port")->required();
  app.add_option("--source", options.sources, "local addresses to use in turn")->required();
  app.add_option("--sessions", options.sessions, "number of sessions");
  app.add_option("--processes", options.processes, "processes that share them")->check(CLI::Range(1, 64));
  app.add_option("--window", options.window, "octets on their way at the same time");
  app.add_option("--in-flight", options.in_flight, "connections that are opened at the same time");
  app.add_option("--limit", options.limit, "seconds without progress that end the measurement");
  app.add_option("--event", options.event, "command that empties the tables")->required();
  app.add_option("--page", options.page, "file of shared counters")->required();
  CLI11_PARSE(app, argc, argv);
  return run(options);
}
