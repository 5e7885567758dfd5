// SPDX-License-Identifier: BSD-3-Clause
// The server behind the balancer: sends back what it gets, over TCP and UDP on the same ports. With --sink it only counts.
// Ends with SIGTERM, or with the process that started it.
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
#include <cstdlib>
#include <string>
#include <vector>

#include "load/support.hpp"

namespace {

struct Options {
  std::vector<std::string> listen;
  int processes = 1;  // each has its own limit of open files
  bool sink = false;
  std::string page;
};

enum class Kind : std::uint32_t { listener, datagrams, connection };

std::uint64_t tag(Kind kind, int fd) {
  return std::uint64_t{static_cast<std::uint32_t>(kind)} << 32 | static_cast<std::uint32_t>(fd);
}

class Server {
 public:
  Server(const Options& options, bench::SharedPage* page)
      : options_(options), page_(page), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!epoll_.is_open()) bench::fail("epoll");
    for (const auto& text : options.listen) open(bench::endpoint_of(text));
  }

  void run() {
    std::array<epoll_event, 512> events{};
    while (true) {
      const int n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
      if (n < 0 && errno != EINTR) bench::fail("epoll_wait");
      for (int i = 0; i < n; ++i) {
        const auto data = events[static_cast<std::size_t>(i)].data.u64;
        const int fd = static_cast<int>(data & 0xffffffff);
        switch (static_cast<Kind>(data >> 32)) {
          case Kind::listener:
            accept_all(fd);
            break;
          case Kind::datagrams:
            echo_datagrams(fd);
            break;
          case Kind::connection:
            echo_stream(fd);
            break;
        }
      }
    }
  }

 private:
  void open(const asrp::Endpoint& endpoint) {
    const auto address = bench::socket_address(endpoint.address, endpoint.port);
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      const int fd = ::socket(address.storage.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (fd < 0) bench::fail("socket");
      const int on = 1;
      const int octets = 8 << 20;
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
      ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
      if (type == SOCK_DGRAM) ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &octets, sizeof octets);
      if (::bind(fd, address.get(), address.size) != 0) bench::fail("bind " + endpoint.to_string());
      if (type == SOCK_STREAM && ::listen(fd, 4096) != 0) bench::fail("listen");
      watch(fd, type == SOCK_STREAM ? Kind::listener : Kind::datagrams);
    }
  }

  void watch(int fd, Kind kind) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag(kind, fd);
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) bench::fail("epoll_ctl");
  }

  void accept_all(int listener) {
    while (true) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      bench::set_no_delay(fd);
      watch(fd, Kind::connection);
      if (page_ != nullptr) page_->accepted.fetch_add(1, std::memory_order_relaxed);
    }
  }

  void count(ssize_t octets) {
    if (page_ == nullptr) return;
    page_->last_ns.store(bench::now_ns(), std::memory_order_relaxed);
    page_->received.fetch_add(static_cast<std::uint64_t>(octets), std::memory_order_release);
  }

  void echo_stream(int fd) {
    std::array<char, 65536> data;
    const ssize_t n = ::recv(fd, data.data(), data.size(), 0);
    if (n <= 0) {
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      ::close(fd);
      return;
    }
    count(n);
    if (!options_.sink) ::send(fd, data.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL);
  }

  void echo_datagrams(int fd) {
    std::array<char, 2048> data;
    for (int i = 0; i < 64; ++i) {
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      auto* where = static_cast<sockaddr*>(static_cast<void*>(&from));
      const ssize_t n = ::recvfrom(fd, data.data(), data.size(), 0, where, &size);
      if (n < 0) return;
      count(n);
      if (!options_.sink) ::sendto(fd, data.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL, where, size);
    }
  }

  const Options& options_;
  bench::SharedPage* page_;
  bench::Fd epoll_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Echoes octets over TCP and UDP.");
  app.add_option("--listen", options.listen, "address:port, several possible")->required();
  app.add_option("--processes", options.processes, "workers that share the port")->check(CLI::Range(1, 64));
  app.add_flag("--sink", options.sink, "count only, send nothing back");
  app.add_option("--page", options.page, "file of shared counters; must exist");
  CLI11_PARSE(app, argc, argv);

  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  bench::SharedPage* page = options.page.empty() ? nullptr : &bench::map_page(options.page, false);
  for (int i = 1; i < options.processes; ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) bench::fail("fork");
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      break;
    }
  }
  Server(options, page).run();
}
