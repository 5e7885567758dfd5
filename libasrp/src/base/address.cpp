// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/base/address.hpp"

#include <algorithm>
#include <charconv>

#include "asrp/base/address_text.hpp"
#include "asrp/base/assert.hpp"

namespace asrp {
namespace {

template <typename Number>
std::optional<Number> parse_number(std::string_view text, int base, std::size_t max_digits) {
  if (text.empty() || text.size() > max_digits) return std::nullopt;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool parse_v4(std::string_view text, std::uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    const std::size_t dot = i < 3 ? text.find('.') : text.size();
    if (dot == std::string_view::npos) return false;
    const std::string_view part = text.substr(0, dot);
    if (part.size() > 1 && part[0] == '0') return false;  // octal or decimal? Refuse to guess
    const auto value = parse_number<std::uint8_t>(part, 10, 3);
    if (!value) return false;
    out[i] = *value;
    text.remove_prefix(std::min(text.size(), dot + 1));
  }
  return true;
}

/// Parses `text` as groups separated by single colons into `out`; the last group may be a dotted quad
/// if `quad_allowed`. Returns the number of octets or -1.
int parse_groups(std::string_view text, bool quad_allowed, std::uint8_t* out) {
  int octets = 0;
  while (!text.empty()) {
    const std::size_t colon = text.find(':');
    const std::string_view group = text.substr(0, colon);
    if (colon == std::string_view::npos && quad_allowed && group.find('.') != std::string_view::npos) {
      if (octets > 12 || !parse_v4(group, out + octets)) return -1;
      return octets + 4;
    }
    const auto value = parse_number<std::uint16_t>(group, 16, 4);
    if (!value || octets > 14) return -1;
    out[octets++] = static_cast<std::uint8_t>(*value >> 8);
    out[octets++] = static_cast<std::uint8_t>(*value);
    if (colon == std::string_view::npos) return octets;
    text.remove_prefix(colon + 1);
    if (text.empty()) return -1;  // a trailing single colon
  }
  return octets;
}

bool parse_v6(std::string_view text, std::uint8_t* out) {
  const std::size_t gap = text.find("::");
  if (gap == std::string_view::npos) return parse_groups(text, true, out) == 16;
  std::uint8_t tail[16];
  const int front = parse_groups(text.substr(0, gap), false, out);
  const int back = parse_groups(text.substr(gap + 2), true, tail);
  if (front < 0 || back < 0 || front + back > 14) return false;
  std::fill(out + front, out + 16 - back, std::uint8_t{0});
  std::copy(tail, tail + back, out + 16 - back);
  return true;
}

}  // namespace

IpAddress IpAddress::v4(Octets four_octets) {
  ASRP_ASSERT(four_octets.size() == 4);
  IpAddress a;
  std::copy(four_octets.begin(), four_octets.end(), a.octets_.begin());
  return a;
}

IpAddress IpAddress::v4(std::uint32_t host_order) {
  IpAddress a;
  store_u32(a.octets_, 0, host_order);
  return a;
}

IpAddress IpAddress::v6(Octets sixteen_octets) {
  ASRP_ASSERT(sixteen_octets.size() == 16);
  IpAddress a = v6_zero();
  std::copy(sixteen_octets.begin(), sixteen_octets.end(), a.octets_.begin());
  return a;
}

IpAddress IpAddress::v6_zero() {
  IpAddress a;
  a.family_ = Family::v6;
  return a;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  std::uint8_t octets[16];
  if (text.find(':') != std::string_view::npos) {
    if (!parse_v6(text, octets)) return std::nullopt;
    return v6(octets);
  }
  if (!parse_v4(text, octets)) return std::nullopt;
  return v4(Octets(octets).first(4));
}

bool IpAddress::is_unspecified() const {
  return std::all_of(octets_.begin(), octets_.end(), [](std::uint8_t o) { return o == 0; });
}

IpAddress IpAddress::unmapped() const {
  static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (is_v4() || !std::equal(kPrefix, kPrefix + 12, octets_.begin())) return *this;
  return v4(Octets(octets_).subspan(12));
}

std::string IpAddress::to_string() const {
  std::string text;
  append_address(text, *this);
  return text;
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::parse(host);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1), 10, 5);
  if (!address || !port || address->is_v4() == bracketed) return std::nullopt;
  return Endpoint{*address, *port};
}

std::string Endpoint::to_string() const {
  std::string text;
  append_endpoint(text, *this);
  return text;
}

}  // namespace asrp
