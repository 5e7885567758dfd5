// SPDX-License-Identifier: BSD-3-Clause
// Long answers for people and programs: rows in pieces, each as wide as the ones before it and in it, so that a million of them
// take no memory; with --json the daemon's own lines.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "console.hpp"
#include "table.hpp"

namespace asrp::ctl {

struct ListingColumn {
  std::string title;
  std::string name;  // of the member
  Table::Align align = Table::Align::left;
  /// Instead of plain().
  std::function<Table::Cell(const nlohmann::json& line)> cell = {};
  bool optional = false;  // left out where the first line does not have it
};

/// Shows a long answer; with --watch again and again. `last_line` makes text of the members beside the lines, may be none.
int show_listing(Console& console, const nlohmann::json& request, const std::vector<ListingColumn>& columns,
                 const std::function<std::string(const nlohmann::json&)>& last_line = {});

}  // namespace asrp::ctl
