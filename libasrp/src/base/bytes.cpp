// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/bytes.hpp"

namespace asrp {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string to_hex(Octets octets) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(octets.size() * 2);
  for (const std::uint8_t octet : octets) {
    text.push_back(kDigits[octet >> 4]);
    text.push_back(kDigits[octet & 0xf]);
  }
  return text;
}

bool from_hex(std::string_view text, Buffer& out) {
  int high = -1;
  for (const char c : text) {
    if (c == ' ' && high < 0) continue;
    const int value = digit_value(c);
    if (value < 0) return false;
    if (high < 0) {
      high = value;
    } else {
      out.push_back(static_cast<std::uint8_t>(high << 4 | value));
      high = -1;
    }
  }
  return high < 0;
}

}  // namespace asrp
