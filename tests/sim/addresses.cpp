// SPDX-License-Identifier: BSD-3-Clause
#include "sim/addresses.hpp"

#include "asrp/base/bytes.hpp"

namespace asrp::sim {
namespace {

/// 10.`net`.0.0/16 or fd00:`net`::/32, host number `n`.
IpAddress numbered(std::uint8_t net, std::size_t n, Family family) {
  if (family == Family::v4) return IpAddress::v4(0x0A000000u | std::uint32_t{net} << 16 | static_cast<std::uint32_t>(n));
  std::uint8_t octets[16] = {0xfd, 0, 0, net};
  store_u32(octets, 12, static_cast<std::uint32_t>(n));
  return IpAddress::v6(octets);
}

}  // namespace

IpAddress node_address(std::size_t node, Family family) { return numbered(1, node + 1, family); }
IpAddress server_address(std::size_t server, Family family) { return numbered(2, server + 1, family); }
IpAddress client_address(std::size_t client, Family family) { return numbered(3, client + 1, family); }
IpAddress service_address(Family family) { return numbered(4, 1, family); }
IpAddress full_nat_address(Family family) { return numbered(5, 1, family); }
IpAddress outside_address(std::size_t n, Family family) { return numbered(6, n, family); }

}  // namespace asrp::sim
