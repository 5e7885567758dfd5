// SPDX-License-Identifier: BSD-3-Clause
// Walks through the options of a TCP header, and of a UDP datagram's surplus area (RFC 9868). Always ends: each step
// advances by at least one octet or stops. Of a packet that a capture has cut off, only the first octets may be known: the walk
// goes as far as they allow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "asrp/base/bytes.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::packet {

inline constexpr std::uint8_t kOptionEol = 0;
inline constexpr std::uint8_t kOptionNop = 1;
inline constexpr std::uint8_t kTcpMd5 = 19;
inline constexpr std::uint8_t kTcpAo = 29;
inline constexpr std::uint8_t kUdpFrag = 3;
inline constexpr std::uint8_t kUdpLastMustSupport = 7;  // kinds up to here come before all others
inline constexpr std::uint8_t kUdpAuth = 9;
inline constexpr std::uint8_t kUdpExp = 127;
inline constexpr std::uint8_t kUdpFirstUnsafe = 192;
inline constexpr std::uint8_t kUdpExtended = 255;  // length octet: a 16-bit length follows
inline constexpr std::size_t kMaxTcpOptions = 40;
inline constexpr std::size_t kMaxNops = 7;  // in a row, RFC 9868

/// One option, other than EOL and NOP.
struct Option {
  std::uint8_t kind = 0;
  std::size_t offset = 0;       // of the kind octet, in the area
  std::size_t size = 0;         // kind octet to last octet
  std::size_t data_offset = 0;  // behind kind and length
};

enum class Step : std::uint8_t {
  option,
  end,
  malformed,
  cut,  // what follows is not known
};

class TcpOptionWalk {
 public:
  explicit TcpOptionWalk(Octets area) : TcpOptionWalk(area, area.size()) {}
  /// Only the first `known` octets of the area are.
  TcpOptionWalk(Octets area, std::size_t known) : area_(area), known_(known) {}

  /// `option()` counts after Step::option. At Step::end nothing but EOL and what is behind it is left.
  Step next();
  [[nodiscard]] const Option& option() const { return option_; }

 private:
  Octets area_;
  std::size_t known_;
  std::size_t at_ = 0;
  Option option_;
};

class UdpOptionWalk {
 public:
  /// `area` begins behind the OCS.
  explicit UdpOptionWalk(Octets area) : UdpOptionWalk(area, area.size()) {}
  /// Only the first `known` octets of the area are; the others are zero. The data of an option may lie beyond.
  UdpOptionWalk(Octets area, std::size_t known) : area_(area), known_(known) {}

  /// As TcpOptionWalk::next(). More than seven NOPs in a row, or anything but zero behind EOL, is malformed,
  /// and so is an EXP option without room for its ExID.
  Step next();
  [[nodiscard]] const Option& option() const { return option_; }
  /// After Step::end: offset of EOL, or of the area's end.
  [[nodiscard]] std::size_t end_offset() const { return at_; }

 private:
  Step read_option();

  Octets area_;
  std::size_t known_;
  std::size_t at_ = 0;
  Option option_;
};

/// Whether `option` of `area` announces an ASRP message.
bool is_ours_tcp(const Option& option, Octets area, const Marker& marker);
bool is_ours_udp(const Option& option, Octets area, const Marker& marker);

/// Where the parts of a surplus area lie, in octets from its begin.
struct SurplusLayout {
  bool is_pad_zero = true;
  std::size_t ocs = 0;
  [[nodiscard]] std::size_t options() const { return ocs + 2; }
};

/// Nothing if there is no room for pad octet and OCS. Precondition: `view` is UDP.
std::optional<SurplusLayout> surplus_layout(const PacketView& view);

/// RFC 9868: the OCS verifies, or it is unused (0) and so is the UDP checksum.
bool is_ocs_right(const PacketView& view, const SurplusLayout& layout);

}  // namespace asrp::packet
