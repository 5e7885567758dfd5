// SPDX-License-Identifier: BSD-3-Clause
// What one packet of a capture says: the value that the decoder makes and every report reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "asrp/base/bytes.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/wire/message.hpp"

namespace asrp::dump {

/// When a packet was captured. `decimals` is the resolution of its file: 6 or 9.
struct Stamp {
  std::int64_t seconds = 0;
  std::uint32_t nanoseconds = 0;  // 0 to 999 999 999
  std::uint8_t decimals = 6;

  [[nodiscard]] std::int64_t total_nanoseconds() const { return seconds * 1'000'000'000 + nanoseconds; }
};

/// What the place of a message holds.
enum class Claim : std::uint8_t {
  none,      // nothing claims to be a message here
  message,   // a valid message
  invalid,   // claims to be one and is none: see `reason`
  cut,       // the capture ends inside: decoded as far as it goes, neither valid nor invalid
  not_asrp,  // a datagram to ASRP-PORT that isn't version 0 with a known type
};

/// Why an `invalid` is none (draft 4.3.1; `ocs` and `option` are of the option that carries it). Names as in `--json`.
enum class Reason : std::uint8_t { none, version, type, sttype, length, truncated, ocs, option };
std::string_view to_string(Reason reason);

/// Parts of a message that can be read on their own, when the rest is cut off or damaged.
namespace known {
inline constexpr std::uint8_t kHeader = 0x01;  // type, sttype, flags, length, protocol, cookie
inline constexpr std::uint8_t kSt1 = 0x02;
inline constexpr std::uint8_t kSt2 = 0x04;
inline constexpr std::uint8_t kSessionData = 0x08;
inline constexpr std::uint8_t kNodeLocalIp = 0x10;
}  // namespace known

/// A message, or what claims to be one, in a packet.
struct Sighting {
  Claim claim = Claim::none;
  Reason reason = Reason::none;
  packet::Carriage carriage = packet::Carriage::standalone;
  wire::Message message;     // Claim::message: all of it; invalid and cut: what `known` names
  std::uint8_t known = 0;    // `known::` bits: the parts of `message` that were read
  std::uint16_t length = 0;  // the Length field, host order
  wire::StType sttype = wire::StType::null;
  std::uint8_t raw_flags = 0;  // with unassigned bits
  std::uint8_t reserved = 0;   // unassigned bits of other fields, zero in what the draft allows
  std::size_t offset = 0;      // of the message in Packet::ip
  Octets octets;               // the message as far as it was captured

  [[nodiscard]] bool present() const { return claim != Claim::none; }
};

/// One record of a capture.
struct Frame {
  std::uint64_t number = 0;  // from 1
  Stamp stamp;
  Octets octets;              // as captured
  std::size_t wire_size = 0;  // as it was on the wire
};

/// One IP packet, without its link layer and tunnels, reassembled if it came in fragments.
struct Packet {
  std::uint64_t number = 0;  // of its (last) frame in the capture, from 1, as Wireshark counts
  Stamp stamp;
  Octets ip;                 // from the IP header on; as long as the IP header says. Octets behind `captured` are zero
  std::size_t captured = 0;  // octets of `ip` that the capture has
  Octets as_captured;        // these; where the header says 0, `ip` has the length of the frame instead
  bool reassembled = false;
  std::optional<packet::PacketView> view;  // of `ip`; nothing if it isn't TCP, UDP or ICMP, or is damaged
  Sighting sighting;
  bool again = false;              // the packet was handed on before, with another message that it holds
  Octets frame;                    // as captured, link layer included
  std::size_t frame_size = 0;      // as it was on the wire
  int link_type = -1;              // of `frame`: DLT_* of libpcap; -1: raw IP
  std::span<const Frame> earlier;  // reassembled: the frames of its other fragments, if the decoder was told to keep them

  [[nodiscard]] bool cut() const { return captured < ip.size(); }
};

}  // namespace asrp::dump
