// SPDX-License-Identifier: BSD-3-Clause
// Network namespaces for one test case: unnamed, entered by this process, gone when the case ends or crashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "asrp/base/bytes.hpp"
#include "asrp/base/tuple.hpp"
#include "io/unique_fd.hpp"

namespace asrp::test {

/// Runs a command line of words separated by spaces in the present namespace; requires success. Returns its output.
std::string run(const std::string& command, const std::string& input = {});
/// The same without a requirement; the exit status.
int try_run(const std::string& command, const std::string& input = {});

/// Writes a sysctl of the present namespace: "net/ipv4/ip_forward".
void sysctl(const std::string& name, const std::string& value);
std::string read_file(const std::string& path);

/// A fresh namespace with lo up; the process is in it until it enters another one or the object ends.
class Namespace {
 public:
  Namespace();
  ~Namespace();
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  void enter() const;
  /// For `ip link ... netns PATH`.
  [[nodiscard]] std::string path() const;

 private:
  io::UniqueFd before_;
  io::UniqueFd own_;
};

/// client (10.1.0.2, fd01::2) - node (10.1.0.1 and 10.2.0.1, fd01::1 and fd02::1) - server (10.2.0.2, fd02::2); the service
/// address 10.9.0.1 / fd09::1 is routed to the node. The node forwards both families.
struct Lab {
  Namespace client;
  Namespace node;
  Namespace server;
  Lab();
};

/// A socket of the present namespace, bound (and connected or listening) or the case fails. Receive time limit 2 s.
io::UniqueFd udp_socket(const Endpoint& local);
io::UniqueFd tcp_listener(const Endpoint& local);
io::UniqueFd tcp_connect(const Endpoint& remote, const Endpoint& local = {});
Endpoint local_endpoint(int socket);
void send_to(int socket, const Endpoint& remote, Octets octets);
/// The next datagram or stream piece; empty after the time limit.
Buffer receive(int socket, Endpoint* from = nullptr);
bool wait_readable(int descriptor, int milliseconds = 2000);

inline Endpoint at(const char* text) { return *Endpoint::parse(text); }
inline Tuple tuple(Protocol protocol, const char* src, const char* dst) { return {at(src), at(dst), protocol}; }

/// IPv4 or IPv6 packet with a UDP datagram, all checksums right.
Buffer udp_packet(const Endpoint& src, const Endpoint& dst, Octets payload);
/// The same with a TCP segment in mid-stream (ACK and PSH).
Buffer tcp_segment(const Endpoint& src, const Endpoint& dst, std::uint32_t sequence, Octets payload);

}  // namespace asrp::test
