// SPDX-License-Identifier: BSD-3-Clause
// What the TCP and the UDP half of surgery share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "asrp/base/assert.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/packet/surgery.hpp"

namespace asrp::packet {

inline constexpr std::size_t kMaxPacket = 65535;

/// The one's-complement sum behind a checksum, changed piece by piece (RFC 1624). Adding anything but zero last keeps the
/// two forms of zero apart as a full computation does.
class Sum {
 public:
  explicit Sum(std::uint16_t checksum) : sum_(static_cast<std::uint16_t>(~checksum)) {}

  void add(std::uint16_t word) { sum_ = ones_add(sum_, word); }
  void remove(std::uint16_t word) { sum_ = ones_add(sum_, static_cast<std::uint16_t>(~word)); }
  /// Octets that begin at an even offset.
  void add(Octets octets) { add(ones_sum(octets)); }
  void remove(Octets octets) { remove(ones_sum(octets)); }
  /// Octets that begin at `offset`.
  void add_at(std::size_t offset, Octets octets) { add(placed(offset, octets)); }
  void remove_at(std::size_t offset, Octets octets) { remove(placed(offset, octets)); }
  /// `octets` move from an even offset to an odd one.
  void shift_by_one(Octets octets) {
    remove_at(0, octets);
    add_at(1, octets);
  }
  /// And back again.
  void shift_by_one_back(Octets octets) {
    remove_at(1, octets);
    add_at(0, octets);
  }
  [[nodiscard]] std::uint16_t checksum() const { return static_cast<std::uint16_t>(~sum_); }

 private:
  static std::uint16_t placed(std::size_t offset, Octets octets) {
    const std::uint16_t sum = ones_sum(octets);
    return offset % 2 == 0 ? sum : static_cast<std::uint16_t>(sum << 8 | sum >> 8);
  }

  std::uint16_t sum_;
};

/// Appends the parts one behind the other; returns where they begin.
std::size_t append(std::initializer_list<Octets> parts, Buffer& out);

/// Writes the length of `packet`, which began as a copy of `view`, into its IP header.
void set_ip_length(const PacketView& view, MutableOctets packet);

Result<Done, SurgeryError> insert_udp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                      Buffer& out);
Result<Done, SurgeryError> separate_udp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                        Buffer& out);
void strip_udp(const PacketView& view, const Located& located, Buffer& out);

}  // namespace asrp::packet
