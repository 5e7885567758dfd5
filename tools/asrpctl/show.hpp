// SPDX-License-Identifier: BSD-3-Clause
// Answers of a daemon in a form for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace asrp::ctl {

struct CounterValue {
  std::uint64_t value = 0;
  std::string help;
};
using Counters = std::map<std::string, CounterValue>;  // sorted by name

Counters parse_counters(const std::string& answer);
/// A table sorted by name, with help; with `before` also the change since then. Counters that are 0 are left out unless `all`.
std::string counters_table(const Counters& now, const Counters* before, bool all);
/// {"name": value, ...} alone.
std::string counters_json(const std::string& answer);

/// The answer without "ok".
std::string status_json(const std::string& answer);
std::string status_text(const std::string& answer);

/// Clears the screen between two tables, on a terminal; elsewhere tables follow each other with an empty line between.
class Terminal {
 public:
  Terminal();
  void begin_screen() const;

 private:
  bool is_terminal_;
};

}  // namespace asrp::ctl
