// SPDX-License-Identifier: BSD-3-Clause
#include "report/names.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace asrp::dump {
namespace {

std::string look_up_host(const IpAddress& address) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const Octets octets = address.octets();
  if (address.is_v4()) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    std::memcpy(&in.sin_addr, octets.data(), octets.size());
    size = sizeof in;
    std::memcpy(&storage, &in, size);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    std::memcpy(&in.sin6_addr, octets.data(), octets.size());
    size = sizeof in;
    std::memcpy(&storage, &in, size);
  }
  char name[NI_MAXHOST];
  const auto* const socket_address = reinterpret_cast<const sockaddr*>(&storage);
  const int error = getnameinfo(socket_address, size, name, sizeof name, nullptr, 0, NI_NAMEREQD);
  return error == 0 ? std::string(name) : address.to_string();
}

}  // namespace

std::string harmless(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  return name;
}

const std::string& Names::host(const IpAddress& address) {
  const auto found = hosts_.find(address);
  if (found != hosts_.end()) return found->second;
  if (hosts_.size() >= kMaxHosts) hosts_.clear();
  return hosts_.emplace(address, harmless(look_up_host(address))).first->second;
}

const std::string& Names::port(std::uint16_t port, Protocol protocol) {
  const auto found = ports_.find({port, protocol});
  if (found != ports_.end()) return found->second;
  const servent* const service = getservbyport(htons(port), protocol == Protocol::udp ? "udp" : "tcp");
  std::string name = service == nullptr ? std::to_string(port) : harmless(service->s_name);
  return ports_.emplace(std::pair{port, protocol}, std::move(name)).first->second;
}

}  // namespace asrp::dump
