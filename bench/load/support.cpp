// SPDX-License-Identifier: BSD-3-Clause
#include "load/support.hpp"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <utility>

namespace bench {

void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

Fd::~Fd() { reset(); }

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

const sockaddr* SocketAddress::get() const { return static_cast<const sockaddr*>(static_cast<const void*>(&storage)); }

SocketAddress socket_address(const asrp::IpAddress& address, std::uint16_t port) {
  SocketAddress out;
  if (address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, address.octets().data(), 4);
    std::memcpy(&out.storage, &in, sizeof in);
    out.size = sizeof in;
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, address.octets().data(), 16);
    std::memcpy(&out.storage, &in, sizeof in);
    out.size = sizeof in;
  }
  return out;
}

asrp::Endpoint endpoint_of(const std::string& text) {
  const auto parsed = asrp::Endpoint::parse(text);
  if (!parsed) {
    std::fprintf(stderr, "%s is no address and port\n", text.c_str());
    std::exit(2);
  }
  return *parsed;
}

std::vector<asrp::IpAddress> addresses_of(const std::vector<std::string>& texts) {
  std::vector<asrp::IpAddress> out;
  for (const auto& text : texts) {
    const auto parsed = asrp::IpAddress::parse(text);
    if (!parsed) {
      std::fprintf(stderr, "%s is no address\n", text.c_str());
      std::exit(2);
    }
    out.push_back(*parsed);
  }
  return out;
}

SourcePorts::SourcePorts(std::vector<asrp::IpAddress> addresses, std::uint16_t first, std::uint16_t last)
    : addresses_(std::move(addresses)), first_(first), last_(last) {}

SocketAddress SourcePorts::next() {
  const auto& address = addresses_[count_ % addresses_.size()];
  const auto ports = static_cast<std::uint64_t>(last_ - first_) + 1;
  const auto port = static_cast<std::uint16_t>(first_ + count_ / addresses_.size() % ports);
  ++count_;
  return socket_address(address, port);
}

Fd begin_connect(const SocketAddress& source, const SocketAddress& target) {
  Fd fd(::socket(target.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) fail("socket");
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), source.get(), source.size) != 0) {
    if (errno == EADDRINUSE) return Fd();
    fail("bind");
  }
  if (::connect(fd.get(), target.get(), target.size) != 0 && errno != EINPROGRESS) {
    if (errno == EADDRINUSE || errno == EADDRNOTAVAIL) return Fd();
    fail("connect");
  }
  return fd;
}

void reset_on_close(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void set_no_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

double percentile(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(share * last + 0.5)];
}

std::string quantiles_ms(std::vector<double>& nanoseconds) {
  std::sort(nanoseconds.begin(), nanoseconds.end());
  char text[128];
  std::snprintf(text, sizeof text, R"({"p50":%.3f,"p99":%.3f,"max":%.3f})", percentile(nanoseconds, 0.5) / 1e6,
                percentile(nanoseconds, 0.99) / 1e6, nanoseconds.empty() ? 0.0 : nanoseconds.back() / 1e6);
  return text;
}

SharedPage& map_page(const std::string& path, bool create) {
  const Fd fd(::open(path.c_str(), create ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDWR | O_CLOEXEC, 0600));
  if (!fd.is_open()) fail(path);
  if (create && ::ftruncate(fd.get(), sizeof(SharedPage)) != 0) fail(path);
  void* page = ::mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) fail("mmap");
  return create ? *new (page) SharedPage : *static_cast<SharedPage*>(page);
}

EventCommand::EventCommand(const std::string& command) {
  int to[2];
  int from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) fail("pipe");
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  input_ = Fd(to[1]);
  output_ = Fd(from[0]);
  expect("ready");
}

EventCommand::~EventCommand() {
  input_.reset();
  ::waitpid(pid_, nullptr, 0);
}

void EventCommand::trigger() {
  if (::write(input_.get(), "go\n", 3) != 3) fail("event");
}

void EventCommand::expect(const std::string& word) {
  std::string line;
  char c = 0;
  while (::read(output_.get(), &c, 1) == 1 && c != '\n') line += c;
  if (line != word) {
    std::fprintf(stderr, "event: '%s' where '%s' was due\n", line.c_str(), word.c_str());
    std::exit(1);
  }
}

}  // namespace bench
