// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/holder_options.hpp"

#include <algorithm>

namespace asrp::engine {

bool Prefix::contains(const IpAddress& a) const {
  if (a.family() != address.family()) return false;
  const Octets mine = address.octets();
  const Octets other = a.octets();
  const std::size_t bits = std::min<std::size_t>(length, mine.size() * 8);
  const std::size_t whole = bits / 8;
  if (!std::equal(mine.begin(), mine.begin() + static_cast<std::ptrdiff_t>(whole), other.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xFF << (8 - bits % 8));
  return ((mine[whole] ^ other[whole]) & mask) == 0;
}

}  // namespace asrp::engine
