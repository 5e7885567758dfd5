// SPDX-License-Identifier: BSD-3-Clause
// Long answers for people and programs: rows in pieces, each as wide as the ones before it and in it, so that a million of them
// take no memory; with --json the daemon's own lines.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
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

/// Rows of a table, shown in pieces. `columns` must outlive it.
class Rows {
 public:
  Rows(const std::vector<ListingColumn>& columns, bool colours) : all_(columns), colours_(colours) {}
  void add(const nlohmann::json& line);
  /// Shows what is left.
  void end();

 private:
  void begin(const nlohmann::json& line);
  [[nodiscard]] std::vector<std::pair<std::string, Table::Align>> titles(bool shown) const;

  const std::vector<ListingColumn>& all_;
  std::vector<ListingColumn> columns_;
  bool colours_;
  bool begun_ = false;
  std::optional<Table> table_;
  std::size_t rows_ = 0;
};

/// Shows a long answer; with --watch again and again. `last_line` makes text of the members beside the lines, may be none.
int show_listing(Console& console, const nlohmann::json& request, const std::vector<ListingColumn>& columns,
                 const std::function<std::string(const nlohmann::json&)>& last_line = {});

}  // namespace asrp::ctl
