// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "options.hpp"

namespace asrp::dump {

/// One option: how it is written, what --help says, what it does.
struct OptionRow {
  char letter;                // 0: none
  std::string_view name;      // with its dashes; empty: none
  std::string_view argument;  // what it is called in --help; empty: takes none
  std::string_view help;
  /// Takes the argument over. Returns what is wrong with it; empty if nothing is.
  std::string (*apply)(Options& options, std::string_view value);
};

struct OptionGroup {
  std::string_view title;
  std::span<const OptionRow> rows;
};

std::span<const OptionGroup> option_groups();

/// Does `name` end with `ending`, a lower-case one, in whatever case?
bool has_ending(std::string_view name, std::string_view ending);

}  // namespace asrp::dump
