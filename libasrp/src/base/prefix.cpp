// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/prefix.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "asrp/base/assert.hpp"

namespace asrp {

IpAddress masked(const IpAddress& address, unsigned length) {
  ASRP_ASSERT(length <= address_bits(address.family()));
  const Octets from = address.octets();
  std::array<std::uint8_t, 16> to{};
  const std::size_t whole = length / 8;
  std::copy_n(from.begin(), whole, to.begin());
  if (length % 8 != 0) to[whole] = static_cast<std::uint8_t>(from[whole] & (0xff00u >> (length % 8)));
  const Octets octets = Octets(to).first(from.size());
  return address.is_v4() ? IpAddress::v4(octets) : IpAddress::v6(octets);
}

std::optional<Prefix> Prefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return of(*address);
  const std::string_view digits = text.substr(slash + 1);
  Prefix prefix{*address, 0};
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, prefix.length);
  const bool padded = digits.size() > 1 && digits.front() == '0';
  if (error != std::errc{} || rest != end || padded || !prefix.is_valid()) return std::nullopt;
  return prefix;
}

Prefix Prefix::of(const IpAddress& address) { return {address, static_cast<std::uint8_t>(address_bits(address.family()))}; }

bool Prefix::contains(const IpAddress& other) const {
  const unsigned bits = std::min<unsigned>(length, address_bits(family()));
  return other.family() == family() && masked(other, bits) == masked(address, bits);
}

namespace {

/// Both halves of one block.
bool are_halves(const Prefix& a, const Prefix& b) {
  if (a.family() != b.family() || a.length != b.length || a.length == 0) return false;
  return masked(a.address, a.length - 1u) == masked(b.address, b.length - 1u);
}

}  // namespace

std::vector<Prefix> blocks_of(std::vector<IpAddress> addresses) {
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  std::vector<Prefix> blocks;
  for (const IpAddress& address : addresses) {
    blocks.push_back(Prefix::of(address));
    while (blocks.size() > 1 && are_halves(blocks[blocks.size() - 2], blocks.back())) {
      blocks.pop_back();  // the lower half has the block's address
      --blocks.back().length;
    }
  }
  return blocks;
}

std::string Prefix::to_string() const { return address.to_string() + "/" + std::to_string(length); }

}  // namespace asrp
