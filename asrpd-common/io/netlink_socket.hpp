// SPDX-License-Identifier: GPL-2.0-or-later
// A netlink socket without a policy: sizes, groups, send and receive. The messages are the callers' business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

class NetlinkSocket {
 public:
  /// Opens and binds; `what` names the purpose in errors ("open conntrack").
  static Result<NetlinkSocket, IoError> open(int protocol, const std::string& what);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Sets the receive buffer beyond rmem_max where the process may; returns what the kernel gave.
  std::size_t set_receive_buffer(std::size_t octets);
  void set_send_buffer(std::size_t octets);
  /// Errors come without the message that they are about.
  void cut_errors();
  /// Joins a multicast group by its number. False with errno.
  [[nodiscard]] bool join(unsigned group);
  /// Sends to the kernel. Returns 0 or errno; waits where the kernel's buffer is full.
  [[nodiscard]] int send(Octets message);
  /// One datagram without blocking; -1 with errno (EAGAIN: nothing waits).
  [[nodiscard]] ssize_t receive(MutableOctets buffer, bool wait = false);

 private:
  explicit NetlinkSocket(UniqueFd descriptor) : descriptor_(std::move(descriptor)) {}
  UniqueFd descriptor_;
};

/// Many datagrams in one system call, for sockets whose messages are small and come in numbers.
class NetlinkBurst {
 public:
  NetlinkBurst();
  ~NetlinkBurst();

  /// Hands each datagram that waits to `visit`, without blocking. False if the kernel dropped some (ENOBUFS). Views are valid
  /// during the visit.
  bool receive_all(NetlinkSocket& socket, const std::function<void(Octets datagram)>& visit);

 private:
  struct Area;
  std::unique_ptr<Area> area_;
};

}  // namespace asrp::io
