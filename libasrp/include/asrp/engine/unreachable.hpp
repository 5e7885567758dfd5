// SPDX-License-Identifier: BSD-3-Clause
// What an ICMP "port unreachable" says of a datagram to ASRP-PORT: read by the message socket, judged by the node's engine.
#pragma once

#include <cstdint>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"

namespace asrp::engine {

struct Unreachable {
  IpAddress peer;                 // where the datagram went, and who says so
  std::uint16_t source_port = 0;  // of the datagram that is quoted
  Octets message;                 // what that carried, as far as it is quoted
};

}  // namespace asrp::engine
