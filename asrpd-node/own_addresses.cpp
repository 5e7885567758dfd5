// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/own_addresses.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "io/unique_fd.hpp"

namespace asrp::node {
namespace {

/// What the kernel lets nobody bind to is not here. That it refuses for another reason says nothing.
bool is_missing(const IpAddress& address) {
  const int family = address.is_v4() ? AF_INET : AF_INET6;
  const io::UniqueFd descriptor(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!descriptor) return false;
  sockaddr_storage name{};
  name.ss_family = static_cast<sa_family_t>(family);
  const auto octets = address.octets();
  if (address.is_v4()) {
    std::memcpy(&reinterpret_cast<sockaddr_in*>(&name)->sin_addr, octets.data(), octets.size());
  } else {
    std::memcpy(&reinterpret_cast<sockaddr_in6*>(&name)->sin6_addr, octets.data(), octets.size());
  }
  const socklen_t length = address.is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return ::bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&name), length) != 0 && errno == EADDRNOTAVAIL;
}

}  // namespace

std::vector<std::string> OwnAddresses::look(const std::vector<IpAddress>& configured) {
  std::vector<std::string> out;
  std::set<IpAddress> missing;
  for (const IpAddress& address : configured) {
    const bool was = missing_.count(address) != 0;
    if (!is_missing(address)) {
      if (was) out.push_back(address.to_string() + " is an address of this machine now");
      continue;
    }
    missing.insert(address);
    if (!was)
      out.push_back(address.to_string() +
                    " of local_ips is no address of this machine: no answer to its messages comes here; see `ip address`");
  }
  missing_ = std::move(missing);
  return out;
}

}  // namespace asrp::node
