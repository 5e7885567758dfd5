// SPDX-License-Identifier: BSD-3-Clause
// IPv4 and IPv6 addresses and endpoints as values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "asrp/base/bytes.hpp"

namespace asrp {

enum class Family : std::uint8_t { v4 = 4, v6 = 6 };

/// An IP address of either family, octets in network order. Default: 0.0.0.0.
class IpAddress {
 public:
  constexpr IpAddress() = default;

  static IpAddress v4(Octets four_octets);
  static IpAddress v4(std::uint32_t host_order);
  static IpAddress v6(Octets sixteen_octets);
  /// Accepts exactly the textual forms of RFC 4291 and dotted quads; no prefix, zone or white space.
  static std::optional<IpAddress> parse(std::string_view text);
  static IpAddress any(Family family) { return family == Family::v4 ? IpAddress{} : v6_zero(); }

  [[nodiscard]] Family family() const { return family_; }
  [[nodiscard]] bool is_v4() const { return family_ == Family::v4; }
  /// 4 or 16 octets in network order.
  [[nodiscard]] Octets octets() const { return Octets(octets_).first(is_v4() ? 4 : 16); }
  [[nodiscard]] bool is_unspecified() const;
  /// `::ffff:a.b.c.d` becomes a.b.c.d (dual-stack sockets report such); others are returned as they are.
  [[nodiscard]] IpAddress unmapped() const;
  /// RFC 5952 form.
  [[nodiscard]] std::string to_string() const;

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  static IpAddress v6_zero();

  Family family_ = Family::v4;
  std::array<std::uint8_t, 16> octets_{};  // IPv4 in the first four, the rest zero: == stays simple
};

/// Address and port (host order).
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;

  /// "192.0.2.1:80" or "[2001:db8::1]:80".
  static std::optional<Endpoint> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

}  // namespace asrp
