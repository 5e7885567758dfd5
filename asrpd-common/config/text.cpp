// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/text.hpp"

#include <algorithm>
#include <charconv>

namespace asrp::config {
namespace {

struct Unit {
  std::string_view name;
  Duration size;
};
constexpr Unit kUnits[] = {{"h", std::chrono::hours(1)},         {"min", std::chrono::minutes(1)},
                           {"s", std::chrono::seconds(1)},       {"ms", std::chrono::milliseconds(1)},
                           {"us", std::chrono::microseconds(1)}, {"ns", std::chrono::nanoseconds(1)}};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

/// Octets of the control character at `at`: one of ASCII's, or one of U+0080 to U+009F in UTF-8; 0 if there is none.
std::size_t control_character(std::string_view text, std::size_t at) {
  const auto octet = static_cast<unsigned char>(text[at]);
  if (octet < 0x20 || octet == 0x7f) return 1;
  if (octet == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0) return 2;
  return 0;
}

}  // namespace

std::string escaped(std::string_view text, std::size_t longest) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::size_t end = std::min(text.size(), longest);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole characters
  std::string out;
  for (std::size_t i = 0; i < end; ++i) {
    const std::size_t control = control_character(text, i);
    const auto octet = static_cast<unsigned char>(text[i + (control == 2 ? 1 : 0)]);
    if (control == 0) {
      out += text[i];
    } else {
      out += octet == '\n' ? "\\n" : std::string(control == 2 ? "\\u00" : "\\x") + kHex[octet >> 4] + kHex[octet & 15];
    }
    if (control == 2) ++i;
  }
  return end < text.size() ? out + "..." : out;
}

bool is_printable(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (control_character(text, i) != 0) return false;
  return true;
}

std::string shown(std::string_view text) { return "\"" + escaped(text) + "\""; }

std::optional<Duration> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const Unit& u : kUnits)
    if (u.name == unit && number <= Duration::max().count() / u.size.count()) return number * u.size;
  return std::nullopt;
}

std::string format_duration(Duration duration) {
  // Hours and minutes are read, but written as seconds: "7440s" compares with "600s" at a glance.
  for (const Unit& u : kUnits)
    if (u.size <= std::chrono::seconds(1) && duration % u.size == Duration::zero())
      return std::to_string(duration / u.size) + std::string(u.name);
  return std::to_string(duration.count()) + "ns";
}

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace asrp::config
