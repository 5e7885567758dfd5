// SPDX-License-Identifier: BSD-3-Clause
// What the load generators share: sockets, a clock, percentiles, a page of counters between processes, the event helper.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"

namespace bench {

/// Ends the program with a message and errno's text.
[[noreturn]] void fail(const std::string& what);

/// Nanoseconds of CLOCK_MONOTONIC: the same clock in every process and namespace of the machine.
std::int64_t now_ns();

/// A file descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

/// A socket address for the kernel.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const;
};
SocketAddress socket_address(const asrp::IpAddress& address, std::uint16_t port);

/// Parses "addr:port" or "[v6]:port"; ends the program if it is neither.
asrp::Endpoint endpoint_of(const std::string& text);
std::vector<asrp::IpAddress> addresses_of(const std::vector<std::string>& texts);

/// Hands out (address, port) pairs in turn, so that no tuple comes again while an entry of it may still exist.
class SourcePorts {
 public:
  SourcePorts(std::vector<asrp::IpAddress> addresses, std::uint16_t first, std::uint16_t last);
  SocketAddress next();

 private:
  std::vector<asrp::IpAddress> addresses_;
  std::uint16_t first_;
  std::uint16_t last_;
  std::uint64_t count_ = 0;
};

/// A non-blocking TCP socket bound to `source` that has begun to connect. Not open if the kernel refused (port taken).
Fd begin_connect(const SocketAddress& source, const SocketAddress& target);
/// Closing will send RST: no TIME-WAIT stays behind.
void reset_on_close(int fd);
void set_no_delay(int fd);

/// A value at a share (0..1) of the sorted list; 0 if it is empty.
double percentile(std::vector<double>& sorted, double share);
/// {"p50":…,"p99":…,"max":…} in milliseconds of a list of nanoseconds; sorts it.
std::string quantiles_ms(std::vector<double>& nanoseconds);

/// Counters in a file that is mapped by generator and receiver alike.
struct SharedPage {
  std::atomic<std::uint64_t> received{0};  // octets that the receiver's application got
  std::atomic<std::int64_t> last_ns{0};    // when it got the last one
  std::atomic<std::uint64_t> accepted{0};  // connections that it accepted
};
SharedPage& map_page(const std::string& path, bool create);

/// A prepared command that does the loss when told: it prints "ready", waits for a line, acts, prints "done". Prepared so
/// that starting a program doesn't count as part of the loss.
class EventCommand {
 public:
  explicit EventCommand(const std::string& command);
  ~EventCommand();
  EventCommand(const EventCommand&) = delete;
  EventCommand& operator=(const EventCommand&) = delete;
  void trigger();
  /// Readable once the command has said "done".
  [[nodiscard]] int output() const { return output_.get(); }
  void expect(const std::string& word);

 private:
  Fd input_;
  Fd output_;
  int pid_ = -1;
};

}  // namespace bench
