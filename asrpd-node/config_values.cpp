// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/config_values.hpp"

#include <algorithm>
#include <charconv>

namespace asrp::node {

using config::Reader;

bool is_name(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  return plain && !text.empty() && text.size() <= 64;
}

void read_name(Reader& reader, std::string_view key, std::string& out) {
  if (!reader.require(key) || !reader.text(key, out) || is_name(out)) return;
  reader.problem(key, "found " + config::shown(out) + ", allowed are " + std::string(kNameRule));
}

bool read_ports(Reader& reader, std::string_view key, std::uint16_t& first, std::uint16_t& last) {
  std::string text;
  if (!reader.text(key, text)) return !reader.has(key);
  unsigned low = 0;
  unsigned high = 0;
  const char* const end = text.data() + text.size();
  const auto [middle, error] = std::from_chars(text.data(), end, low);
  if (error == std::errc{} && middle != end && *middle == '-') {
    const auto [rest, second_error] = std::from_chars(middle + 1, end, high);
    if (second_error == std::errc{} && rest == end && low >= 1 && low <= high && high <= 65535) {
      first = static_cast<std::uint16_t>(low);
      last = static_cast<std::uint16_t>(high);
      return true;
    }
  }
  reader.problem(key, "found " + config::shown(text) + ", allowed is FIRST-LAST with ports from 1 to 65535");
  return false;
}

std::string ports_text(std::uint16_t first, std::uint16_t last) { return std::to_string(first) + "-" + std::to_string(last); }

}  // namespace asrp::node
