// SPDX-License-Identifier: GPL-2.0-or-later
// A TOML file as a tree of values that know their line. toml++ is confined to value.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace asrp::config {

/// One finding about a configuration file.
struct Problem {
  std::string file;
  unsigned line = 0;
  std::string key;  // "services[0].address"; empty for the file as a whole
  std::string message;
  bool is_warning = false;
  bool bars_start = false;  // a warning: the file is good, but no daemon runs with it
  /// "file:line:key: message"; "file:line: message" and "file: message" where it is about no key, or the whole file.
  [[nodiscard]] std::string to_string() const;
};

/// All findings, in the order in which they were found.
struct Problems {
  std::vector<Problem> list;
  [[nodiscard]] std::size_t errors() const;
  [[nodiscard]] bool bar_start() const;
};

struct Member;

struct Value {
  enum class Kind : std::uint8_t { boolean, integer, text, array, table, other };

  Kind kind = Kind::other;
  unsigned line = 0;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string text;             // text; for `other` what it is ("a date")
  std::vector<Value> items;     // array
  std::vector<Member> members;  // table

  [[nodiscard]] const Value* find(std::string_view key) const;
  /// What was found, for messages: `"abc"`, `70000`, `a table`.
  [[nodiscard]] std::string describe() const;
};

struct Member {
  std::string key;
  Value value;
};

/// Parses TOML text; a syntax error, which a duplicate key is too, becomes a problem.
std::optional<Value> parse_toml(std::string_view text, const std::string& file, Problems& problems);
/// Reads and parses a file.
std::optional<Value> load_toml(const std::string& file, Problems& problems);

}  // namespace asrp::config
