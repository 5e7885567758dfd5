// SPDX-License-Identifier: BSD-3-Clause
// How the reports about sessions write times, tuples and JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "asrp/base/address.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::dump {

/// "13:05:09.123456", local time.
void append_clock(std::string& out, std::int64_t nanoseconds);
/// Seconds since 1970 with 6 or 9 decimals, as JSON's `time`.
void append_seconds(std::string& out, std::int64_t nanoseconds, int decimals);
/// "0.412": milliseconds with as many decimals as are of use.
std::string milliseconds(std::int64_t nanoseconds);
/// The same with three decimals, whatever its size: times that are compared with their neighbours.
std::string exact_milliseconds(std::int64_t nanoseconds);
/// "198.18.1.2:40000>203.0.113.10:80".
std::string flow_text(const Tuple& tuple);
/// A string in quotation marks; control characters, quotation marks and backslashes escaped.
void append_json(std::string& out, std::string_view text);
/// "00c0ffee"
std::string hex8(std::uint32_t value);
/// `text` filled with blanks up to `width`; right-aligned if `width` is negative.
std::string padded(std::string_view text, int width);

}  // namespace asrp::dump
