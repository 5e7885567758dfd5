// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/carriage.hpp"

namespace asrp::packet {

std::string_view to_string(Carriage carriage) {
  switch (carriage) {
    case Carriage::inline_tcp:
      return "inline-tcp";
    case Carriage::inline_udp:
      return "inline-udp";
    case Carriage::separate_tcp:
      return "separate-tcp";
    case Carriage::separate_udp:
      return "separate-udp";
    case Carriage::standalone:
      return "standalone";
  }
  return "?";
}

}  // namespace asrp::packet
