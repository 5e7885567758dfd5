// SPDX-License-Identifier: GPL-2.0-or-later
// Typed access to one table of a configuration. Every getter leaves its default where the key is absent, and reports what it
// found and what is allowed where the value is wrong; nothing throws, so that one run tells all problems. finish() reports the
// keys that nobody asked for.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/prefix.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/time.hpp"
#include "config/text.hpp"
#include "config/value.hpp"

namespace asrp::config {

/// A secret key: its octets, and the file that it came from (empty if it stands in the configuration).
struct SecretKey {
  HashKey value{};
  std::string file;
  friend bool operator==(const SecretKey&, const SecretKey&) = default;
};

class Reader {
 public:
  /// `path` names the table in messages ("services[0]"; empty for the root). `value` and `problems` must outlive the reader.
  Reader(const Value& value, std::string path, std::string file, Problems& problems);

  [[nodiscard]] bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  /// Where `key` ("full_nat.ports" too) stands; else the table.
  [[nodiscard]] unsigned line(std::string_view key) const;
  /// Reports if the key is absent; true if it is there.
  bool require(std::string_view key);

  /// True if a string is there.
  bool text(std::string_view key, std::string& out);
  /// The same for the path of a file or directory, which has no control characters.
  bool path(std::string_view key, std::string& out);
  void boolean(std::string_view key, bool& out);
  template <typename Number>
  void integer(std::string_view key, Number& out, std::int64_t low, std::int64_t high) {
    std::int64_t wide = 0;
    if (read_integer(key, wide, low, high)) out = static_cast<Number>(wide);
  }
  /// "20ms", "600s", "2min", "1h", "50us".
  void duration(std::string_view key, Duration& out, Duration low, Duration high);
  void durations(std::string_view key, std::vector<Duration>& out, Duration low, Duration high);
  void address(std::string_view key, IpAddress& out);
  void addresses(std::string_view key, std::vector<IpAddress>& out);
  /// A list of networks; an address alone is one of its own. False if it is absent, or one of them cannot be read.
  bool prefixes(std::string_view key, std::vector<Prefix>& out);
  void endpoint(std::string_view key, Endpoint& out);
  void texts(std::string_view key, std::vector<std::string>& out);
  /// `KEY` with 32 hexadecimal digits, or `KEY_file` with the name of a file that holds them.
  void secret(const std::string& key, SecretKey& out);
  template <typename Enum>
  void choice(std::string_view key, Enum& out, std::initializer_list<std::pair<std::string_view, Enum>> choices) {
    choice(key, out, std::vector(choices));
  }
  template <typename Enum>
  void choice(std::string_view key, Enum& out, const std::vector<std::pair<std::string_view, Enum>>& choices) {
    std::vector<std::string_view> names;
    for (const auto& [name, meaning] : choices) names.push_back(name);
    const std::size_t index = read_choice(key, names);
    if (index < names.size()) out = choices[index].second;
  }

  /// A sub-table; reads as an empty one where it is absent.
  Reader table(std::string_view key);
  /// A list of tables ([[key]]).
  std::vector<Reader> tables(std::string_view key);

  void problem(std::string_view key, std::string message);
  void warning(std::string_view key, std::string message);
  /// A warning about what is well written, but what no daemon runs with.
  void bar_start(std::string_view key, std::string message);
  /// Reports unknown keys, each with the nearest known one. Call when all keys have been asked for.
  void finish();

 private:
  const Value* ask(std::string_view key);
  const Value* ask(std::string_view key, Value::Kind kind, std::string_view allowed);
  bool read_integer(std::string_view key, std::int64_t& out, std::int64_t low, std::int64_t high);
  std::size_t read_choice(std::string_view key, const std::vector<std::string_view>& names);
  [[nodiscard]] std::string name_of(std::string_view key) const;
  void report(std::string_view key, unsigned at, std::string message, bool is_warning = false);
  void each_text(std::string_view key, std::string_view allowed,
                 const std::function<void(const std::string& name, const Value& item)>& each);

  const Value* value_;
  std::string path_;
  std::string file_;
  Problems* problems_;
  std::vector<std::string> asked_;
};

}  // namespace asrp::config
