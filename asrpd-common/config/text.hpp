// SPDX-License-Identifier: GPL-2.0-or-later
// Text of a configuration: how messages show it, and what it means where it is a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/time.hpp"

namespace asrp::config {

/// A text in one line without control characters, cut at `longest` octets. For what comes from a file and has no quotes of its
/// own: a parser's words, the name of a key.
std::string escaped(std::string_view text, std::size_t longest = 60);
/// The same in quotes. Every value of a file that a message repeats goes through this, or through Value::describe().
std::string shown(std::string_view text);

/// Whether the text has no control characters.
bool is_printable(std::string_view text);

/// Reads a duration with its unit; none if the text is not one.
std::optional<Duration> parse_duration(std::string_view text);
/// The shortest exact form: "2s", "1500us".
std::string format_duration(Duration duration);
/// The known name that is nearest to `name`, if it is near at all.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known);

}  // namespace asrp::config
