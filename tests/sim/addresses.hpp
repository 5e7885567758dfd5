// SPDX-License-Identifier: BSD-3-Clause
// Addresses and ports of the simulated network, of both modes.
#pragma once

#include "asrp/base/address.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::sim {

inline constexpr std::uint16_t kTcpPort = 80;
inline constexpr std::uint16_t kUdpPort = 53;
inline constexpr std::uint16_t kServerTcpPort = 8080;
inline constexpr std::uint16_t kServerUdpPort = 5353;

IpAddress node_address(std::size_t node, Family family);
IpAddress server_address(std::size_t server, Family family);
IpAddress client_address(std::size_t client, Family family);
IpAddress service_address(Family family);
IpAddress full_nat_address(Family family);
IpAddress outside_address(std::size_t n, Family family);

inline std::uint16_t server_port(Protocol protocol) { return protocol == Protocol::tcp ? kServerTcpPort : kServerUdpPort; }

inline HashKey repeated_key(std::uint8_t octet) {
  HashKey key;
  key.fill(octet);
  return key;
}

}  // namespace asrp::sim
