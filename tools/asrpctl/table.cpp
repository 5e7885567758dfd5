// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace asrp::ctl {
namespace {

using nlohmann::json;

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::none:
      return "";
    case Colour::good:
      return "\033[32m";
    case Colour::warning:
      return "\033[33m";
    case Colour::bad:
      return "\033[31m";
    case Colour::faint:
      return "\033[2m";
  }
  return "";
}

/// Characters, not octets: what continues one in UTF-8 takes no place.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string printable(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto octet = static_cast<unsigned char>(c);
    if (octet >= 0x20 && octet != 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[octet >> 4];
      out += kHex[octet & 15];
    }
  }
  return out;
}

std::string plain(const json& value) {
  if (value.is_null() || value.is_discarded()) return "-";
  if (value.is_string()) return printable(value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_array()) {
    std::string out;
    for (const json& each : value) out += (out.empty() ? "" : ", ") + plain(each);
    return out.empty() ? "-" : out;
  }
  return printable(value.dump(-1, ' ', false, json::error_handler_t::replace));
}

const json& member(const json& object, const char* name) {
  static const json kNone;
  return object.is_object() && object.contains(name) ? object[name] : kNone;
}

std::string short_number(double value) {
  static constexpr std::array<const char*, 6> kUnits = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  const bool whole = value == std::floor(value);
  while (value >= 10000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 && (whole || value >= 100) ? "%.0f%s" : "%.1f%s", value, kUnits[unit]);
  return text.data();
}

std::string load_text(const json& load, const char* unknown) {
  constexpr std::uint64_t kFull = 0xffffffff;
  if (!load.is_number_unsigned()) return unknown;
  return std::to_string((std::min(load.get<std::uint64_t>(), kFull) * 100 + kFull / 2) / kFull) + " %";
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::max(0.0, seconds));
  std::array<char, 64> text{};
  if (whole >= 86400) {
    std::snprintf(text.data(), text.size(), "%lld d %02lld:%02lld:%02lld", whole / 86400, whole / 3600 % 24, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%02lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return text.data();
}

std::string moment_text(const nlohmann::json& milliseconds) {
  if (!milliseconds.is_number_integer()) return plain(milliseconds);
  const auto seconds = static_cast<std::time_t>(milliseconds.get<std::int64_t>() / 1000);
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr || std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &parts) == 0)
    return plain(milliseconds);
  return text.data();
}

std::string Table::text(bool colours) const {
  std::vector<std::size_t> widths;
  bool titles = false;
  for (const auto& [title, align] : columns_) {
    widths.push_back(width_of(title));
    titles = titles || !title.empty();
  }
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < columns_.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i].text));
  std::string out;
  const auto add_row = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Cell cell = cell_of(i);
      const std::string gap(widths[i] - width_of(cell.text), ' ');
      const bool is_last = i + 1 == columns_.size();
      const bool right = columns_[i].second == Align::right;
      const std::string_view code = colours ? code_of(cell.colour) : std::string_view();
      if (right) line += gap;
      line += code;
      line += cell.text;
      if (!code.empty()) line += "\033[0m";
      if (!right && !is_last) line += gap;
      if (!is_last) line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (titles) add_row([this](std::size_t i) { return Cell(columns_[i].first, Colour::faint); });
  for (const auto& row : rows_) add_row([&row](std::size_t i) { return row[i]; });
  return out;
}

}  // namespace asrp::ctl
