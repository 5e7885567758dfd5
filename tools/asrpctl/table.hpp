// SPDX-License-Identifier: BSD-3-Clause
// Tables for people: columns as wide as what is in them, numbers to the right, colours only where a terminal shows them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace asrp::ctl {

enum class Colour : std::uint8_t { none, good, warning, bad, faint };

/// What came from a daemon, fit for a terminal: control characters are shown, not obeyed.
std::string printable(std::string_view text);
/// A value as people write it: text without quotes, - for none, lists with commas.
std::string plain(const nlohmann::json& value);
/// The member of an object, or null; lives as long as the object.
const nlohmann::json& member(const nlohmann::json& object, const char* name);
/// 12, 1234, 12.3 k, 4.5 M: for octets and rates.
std::string short_number(double value);
/// "3 d 04:05:06", "04:05:06".
std::string duration_text(double seconds);
/// Milliseconds since 1970 as "2026-11-30 04:05:06Z".
std::string moment_text(const nlohmann::json& milliseconds);

/// A load in parts of 0xffffffff, as percent; `unknown` where there is none.
std::string load_text(const nlohmann::json& load, const char* unknown);

class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Cell {
    std::string text;
    Colour colour = Colour::none;
    Cell(std::string t, Colour c = Colour::none) : text(std::move(t)), colour(c) {}  // NOLINT: a cell is a text
    Cell(const char* t) : text(t) {}                                                 // NOLINT
  };

  /// A title of "" for all columns: no line of titles.
  explicit Table(std::vector<std::pair<std::string, Align>> columns) : columns_(std::move(columns)) {}
  /// As many cells as columns.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text(bool colours) const;

 private:
  std::vector<std::pair<std::string, Align>> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace asrp::ctl
