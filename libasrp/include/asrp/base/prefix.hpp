// SPDX-License-Identifier: BSD-3-Clause
// Blocks of addresses, as routes and networks have them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/address.hpp"

namespace asrp {

/// 32 or 128.
constexpr unsigned address_bits(Family family) { return family == Family::v4 ? 32 : 128; }

/// `address` with all bits behind the first `length` zero. Precondition: `length` is at most the family's number of bits.
IpAddress masked(const IpAddress& address, unsigned length);

/// The addresses that share their first `length` bits with `address`. Ordered by address, then by length: a block stands in
/// front of those that lie in it.
struct Prefix {
  IpAddress address;
  std::uint8_t length = 32;

  /// "10.0.0.0/8", "2001:db8::/32"; an address without a length is the block of this address alone. Host bits are kept as
  /// they are written; see is_network().
  static std::optional<Prefix> parse(std::string_view text);
  /// The block of one address.
  static Prefix of(const IpAddress& address);

  [[nodiscard]] Family family() const { return address.family(); }
  /// The length is one that the family has.
  [[nodiscard]] bool is_valid() const { return length <= address_bits(family()); }
  /// A length that the family doesn't have means all bits.
  [[nodiscard]] bool contains(const IpAddress& other) const;
  /// No host bit is set. Precondition for this and what follows: is_valid().
  [[nodiscard]] bool is_network() const { return masked(address, length) == address; }
  [[nodiscard]] Prefix network() const { return {masked(address, length), length}; }
  [[nodiscard]] unsigned host_bits() const { return address_bits(family()) - length; }
  [[nodiscard]] bool contains(const Prefix& other) const { return other.length >= length && contains(other.address); }
  /// They have an address in common: one of them lies in the other.
  [[nodiscard]] bool overlaps(const Prefix& other) const { return contains(other) || other.contains(*this); }
  /// With the length, always.
  [[nodiscard]] std::string to_string() const;

  friend auto operator<=>(const Prefix&, const Prefix&) = default;
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

/// Exactly these addresses, in as few blocks as can be, ordered. They may be of both families, and stand there twice.
std::vector<Prefix> blocks_of(std::vector<IpAddress> addresses);

}  // namespace asrp
