// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/tuple.hpp"

#include <algorithm>

#include "asrp/base/siphash.hpp"

namespace asrp {

std::string to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::tcp:
      return "tcp";
    case Protocol::udp:
      return "udp";
    default:
      return std::to_string(static_cast<int>(protocol));
  }
}

std::string Tuple::to_string() const { return asrp::to_string(protocol) + " " + src.to_string() + ">" + dst.to_string(); }

Tuple normalised(const Tuple& tuple) { return tuple.dst < tuple.src ? tuple.reversed() : tuple; }

std::uint64_t table_hash(const Tuple& tuple, std::uint64_t seed) {
  HashKey key{};
  for (std::size_t i = 0; i < 8; ++i) key[i] = static_cast<std::uint8_t>(seed >> (8 * i));
  std::uint8_t input[37];
  std::uint8_t* at = input;
  for (const Endpoint* e : {&tuple.src, &tuple.dst}) {
    const Octets octets = e->address.octets();
    at = std::copy(octets.begin(), octets.end(), at);
    *at++ = static_cast<std::uint8_t>(e->port >> 8);
    *at++ = static_cast<std::uint8_t>(e->port);
  }
  *at++ = static_cast<std::uint8_t>(tuple.protocol);
  return siphash(key, Octets(input, static_cast<std::size_t>(at - input)));
}

}  // namespace asrp
