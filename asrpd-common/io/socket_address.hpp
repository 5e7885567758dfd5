// SPDX-License-Identifier: GPL-2.0-or-later
// Endpoint <-> sockaddr.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "asrp/base/address.hpp"

namespace asrp::io {

class SocketAddress {
 public:
  SocketAddress() = default;
  explicit SocketAddress(const Endpoint& endpoint) {
    if (endpoint.address.is_v4()) {
      v4_.sin_family = AF_INET;
      v4_.sin_port = htons(endpoint.port);
      std::memcpy(&v4_.sin_addr, endpoint.address.octets().data(), 4);
    } else {
      v6_ = {};
      v6_.sin6_family = AF_INET6;
      v6_.sin6_port = htons(endpoint.port);
      std::memcpy(&v6_.sin6_addr, endpoint.address.octets().data(), 16);
    }
  }

  [[nodiscard]] int family() const { return v4_.sin_family; }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&v6_); }
  [[nodiscard]] sockaddr* get() { return reinterpret_cast<sockaddr*>(&v6_); }
  [[nodiscard]] socklen_t size() const { return family() == AF_INET6 ? sizeof v6_ : sizeof v4_; }
  static constexpr socklen_t capacity() { return sizeof(sockaddr_in6); }

  /// As it stands: `::ffff:a.b.c.d` is not unmapped.
  [[nodiscard]] Endpoint endpoint() const {
    if (family() == AF_INET6)
      return {IpAddress::v6(Octets(reinterpret_cast<const std::uint8_t*>(&v6_.sin6_addr), 16)), ntohs(v6_.sin6_port)};
    return {IpAddress::v4(Octets(reinterpret_cast<const std::uint8_t*>(&v4_.sin_addr), 4)), ntohs(v4_.sin_port)};
  }

 private:
  union {
    sockaddr_in6 v6_{};
    sockaddr_in v4_;
  };
};

}  // namespace asrp::io
