// SPDX-License-Identifier: BSD-3-Clause
#include "report/format.hpp"

#include <array>
#include <charconv>
#include <ctime>

namespace asrp::dump {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

}  // namespace

void append_number(std::string& out, std::uint64_t value) {
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<std::size_t>(end - digits));
}

void append_octets(std::string& out, std::uint64_t number) {
  append_number(out, number);
  out += number == 1 ? " octet" : " octets";
}

std::string counted(std::uint64_t number, std::string_view one) {
  return std::to_string(number) + " " + std::string(one) + (number == 1 ? "" : "s");
}

void append_padded(std::string& out, std::uint64_t value, int width) {
  char digits[24];
  const char* const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  for (auto size = end - digits; size < width; ++size) out.push_back('0');
  out.append(digits, static_cast<std::size_t>(end - digits));
}

void append_hex(std::string& out, Octets octets) {
  const std::size_t at = out.size();
  out.resize(at + 2 * octets.size());
  char* digits = out.data() + at;
  for (const std::uint8_t octet : octets) {
    *digits++ = kHexDigits[octet >> 4];
    *digits++ = kHexDigits[octet & 0xf];
  }
}

void append_hex_start(std::string& out, Octets octets, std::size_t limit) {
  append_hex(out, octets.first(octets.size() < limit ? octets.size() : limit));
  if (octets.size() > limit) out += "...";
}

void append_protocol(std::string& out, Protocol protocol) {
  if (protocol == Protocol::tcp) {
    out += "tcp";
  } else if (protocol == Protocol::udp) {
    out += "udp";
  } else {
    append_number(out, static_cast<std::uint8_t>(protocol));
  }
}

void append_cookie(std::string& out, Cookie cookie) {
  std::array<std::uint8_t, 4> octets{};
  store_u32(octets, 0, cookie.value);
  append_hex(out, octets);
}

void append_fraction(std::string& out, std::uint32_t nanoseconds, std::uint8_t decimals) {
  out.push_back('.');
  append_padded(out, decimals > 6 ? nanoseconds : nanoseconds / 1000, decimals > 6 ? 9 : 6);
}

void append_seconds(std::string& out, const Stamp& stamp) {
  // Before 1970 the fraction counts down: -0.5 is stored as -1 s and 500 ms.
  if (stamp.seconds < 0) {
    out.push_back('-');
    const bool has_fraction = stamp.nanoseconds != 0;
    append_number(out, static_cast<std::uint64_t>(-(stamp.seconds + (has_fraction ? 1 : 0))));
    append_fraction(out, has_fraction ? 1'000'000'000 - stamp.nanoseconds : 0, stamp.decimals);
    return;
  }
  append_number(out, static_cast<std::uint64_t>(stamp.seconds));
  append_fraction(out, stamp.nanoseconds, stamp.decimals);
}

void append_type(std::string& out, wire::MsgType type) {
  const auto number = static_cast<std::uint8_t>(type);
  if (number < wire::kMsgTypeCount) {
    out += to_string(type);
  } else {
    out += "type ";
    append_number(out, number);
  }
}

void Clock::look_up(std::int64_t seconds) {
  if (is_known_ && seconds == second_) return;
  second_ = seconds;
  is_known_ = true;
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  char text[64];
  const bool is_right = localtime_r(&time, &parts) != nullptr;
  const std::size_t size = is_right ? std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) : 0;
  text_.assign(text, size);
  if (size == 0) text_ = "date unknown --:--:--";
}

std::string_view Clock::time_of_day(std::int64_t seconds) {
  look_up(seconds);
  return std::string_view(text_).substr(text_.size() - 8);
}

std::string_view Clock::date_and_time(std::int64_t seconds) {
  look_up(seconds);
  return text_;
}

}  // namespace asrp::dump
