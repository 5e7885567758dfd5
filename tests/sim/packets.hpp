// SPDX-License-Identifier: BSD-3-Clause
// Packets of the simulated hosts, and what must hold for any packet that a host is given.
#pragma once

#include <string_view>

#include "asrp/packet/locate.hpp"
#include "sim/mini_tcp.hpp"
#include "sim/truth.hpp"
#include "support/builders.hpp"
#include "support/reference.hpp"

namespace asrp::sim {

inline Buffer packet_of(const Tuple& tuple, const Segment& segment) {
  return test::tcp(tuple)
      .flags(segment.flags)
      .seq(segment.sequence)
      .ack(segment.acknowledgment)
      .options((segment.flags & packet::kTcpSyn) != 0 ? "020405b4 01030307" : "")
      .payload(Buffer(segment.data))
      .build();
}

/// The tuple that an ICMP error which a host gets speaks of, as that host sent it. Its checksums must be right, and what it
/// quotes must be free of messages, as the host's own packet was.
inline std::optional<Tuple> check_error(Truth& truth, std::string_view where, const packet::PacketView& view) {
  const Octets octets = view.octets();
  const std::size_t at = view.transport_offset();
  const std::uint16_t sum = static_cast<std::uint16_t>(
      view.is_v4() ? test::slow_sum(octets.subspan(at)) : test::slow_transport_sum(octets, at, octets.size() - at, 58));
  if (sum != 0xffff) truth.wrong(std::string(where) + ": bad checksum of an ICMP error");
  return packet::quoted_tuple(view);
}

/// Checks a packet that a stack is about to take: right checksums, and no trace of a message.
inline void check_delivered(Truth& truth, std::string_view where, const packet::PacketView& view,
                            bool may_have_option = false) {
  if (!test::slow_verify(view.octets()))
    truth.wrong(std::string(where) + ": bad checksum or length, " + view.tuple().to_string());
  if (!may_have_option && packet::locate(view, {}).status != packet::LocateStatus::none) {
    truth.wrong(std::string(where) + ": a message reached the stack, " + view.tuple().to_string());
  }
}

}  // namespace asrp::sim
