// SPDX-License-Identifier: GPL-2.0-or-later
#include "io/datagram.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "io/socket_address.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io {

Result<Done, IoError> send_datagram(const Endpoint& to, const std::optional<IpAddress>& source,
                                    const std::function<Buffer(const IpAddress& from)>& make) {
  const std::string what = "send a datagram to " + to.to_string();
  SocketAddress address(to);
  const UniqueFd fd(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return Failure{IoError{what, errno, ""}};
  if (source) {
    const SocketAddress own(Endpoint{*source, 0});
    if (::bind(fd.get(), own.get(), own.size()) != 0)
      return Failure{IoError{what + " from " + source->to_string(), errno, "is it an address of this host?"}};
  }
  if (::connect(fd.get(), address.get(), address.size()) != 0) return Failure{IoError{what, errno, "is there a route?"}};
  SocketAddress from(to);  // of the family, so that there is room
  socklen_t size = SocketAddress::capacity();
  if (::getsockname(fd.get(), from.get(), &size) != 0) return Failure{IoError{what, errno, ""}};
  const Buffer octets = make(from.endpoint().address);
  if (::send(fd.get(), octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size()))
    return Failure{IoError{what, errno, ""}};
  return Done{};
}

}  // namespace asrp::io
