// SPDX-License-Identifier: BSD-3-Clause
// Values to text, appended to a string that is reused: no allocation once it has grown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "asrp/base/address_text.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/tuple.hpp"
#include "packet.hpp"

namespace asrp::dump {

void append_number(std::string& out, std::uint64_t value);
/// "1 octet", "2 octets".
void append_octets(std::string& out, std::uint64_t number);
/// "1 session", "2 sessions".
std::string counted(std::uint64_t number, std::string_view one);
/// With leading zeros up to `width` digits.
void append_padded(std::string& out, std::uint64_t value, int width);
/// Lower-case hexadecimal without separators.
void append_hex(std::string& out, Octets octets);
/// The same with at most `limit` octets, then "...".
void append_hex_start(std::string& out, Octets octets, std::size_t limit);
/// "tcp", "udp", or the number.
void append_protocol(std::string& out, Protocol protocol);
/// Eight hexadecimal digits.
void append_cookie(std::string& out, Cookie cookie);
/// The part of a second, with the decimals of the stamp's file: ".123456".
void append_fraction(std::string& out, std::uint32_t nanoseconds, std::uint8_t decimals);
/// Seconds since 1970: "1700000000.123456".
void append_seconds(std::string& out, const Stamp& stamp);

/// "NS" ... "NC", or "type 9" for a number that the draft does not know.
void append_type(std::string& out, wire::MsgType type);

/// Local time of day and date, remembered from one call to the next: most packets share their second with another.
class Clock {
 public:
  /// "13:37:00".
  std::string_view time_of_day(std::int64_t seconds);
  /// "2026-11-30 13:37:00".
  std::string_view date_and_time(std::int64_t seconds);

 private:
  void look_up(std::int64_t seconds);

  std::int64_t second_ = -1;
  bool is_known_ = false;
  std::string text_;
};

}  // namespace asrp::dump
