// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_text.hpp"

#include <array>
#include <cstdio>
#include <ctime>

#include "report/format.hpp"

namespace asrp::dump {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

template <typename... Values>
void append_format(std::string& out, const char* format, Values... values) {
  std::array<char, 96> text{};
  const int size = std::snprintf(text.data(), text.size(), format, values...);
  if (size > 0) out.append(text.data(), std::min(static_cast<std::size_t>(size), text.size() - 1));
}

// Times before 1970 don't come out of captures, but out of damaged ones.
std::int64_t fraction_of(std::int64_t nanoseconds) { return ((nanoseconds % kSecond) + kSecond) % kSecond; }

}  // namespace

void append_clock(std::string& out, std::int64_t nanoseconds) {
  const std::int64_t fraction = fraction_of(nanoseconds);
  const std::time_t seconds = static_cast<std::time_t>((nanoseconds - fraction) / kSecond);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  append_format(out, "%02d:%02d:%02d.%06d", parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(fraction / 1000));
}

void append_seconds(std::string& out, std::int64_t nanoseconds, int decimals) {
  const std::int64_t fraction = fraction_of(nanoseconds);
  append_seconds(out, Stamp{(nanoseconds - fraction) / kSecond, static_cast<std::uint32_t>(fraction),
                            static_cast<std::uint8_t>(decimals)});
}

std::string milliseconds(std::int64_t nanoseconds) {
  const double value = static_cast<double>(nanoseconds) / 1e6;
  const double size = value < 0 ? -value : value;
  std::string out;
  append_format(out, size < 10 ? "%.3f" : size < 1000 ? "%.1f" : "%.0f", value);
  return out;
}

std::string exact_milliseconds(std::int64_t nanoseconds) {
  std::string out;
  append_format(out, "%.3f", static_cast<double>(nanoseconds) / 1e6);
  return out;
}

std::string flow_text(const Tuple& tuple) {
  std::string out;
  append_endpoint(out, tuple.src);
  out += '>';
  append_endpoint(out, tuple.dst);
  return out;
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      append_format(out, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string hex8(std::uint32_t value) {
  std::string out;
  append_format(out, "%08x", value);
  return out;
}

std::string padded(std::string_view text, int width) {
  const auto wanted = static_cast<std::size_t>(width < 0 ? -width : width);
  const std::string fill(wanted > text.size() ? wanted - text.size() : 0, ' ');
  return width < 0 ? fill + std::string(text) : std::string(text) + fill;
}

}  // namespace asrp::dump
