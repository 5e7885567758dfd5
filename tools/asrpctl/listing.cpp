// SPDX-License-Identifier: BSD-3-Clause
#include "listing.hpp"

namespace asrp::ctl {
using nlohmann::json;

namespace {

constexpr std::size_t kRowsAPiece = 1000;

}  // namespace

void Rows::add(const json& line) {
  if (!begun_) begin(line);
  std::vector<Table::Cell> row;
  for (const ListingColumn& column : columns_)
    row.push_back(column.cell ? column.cell(line) : Table::Cell(plain(member(line, column.name.c_str()))));
  table_->add(std::move(row));
  if (++rows_ == kRowsAPiece) end();
}

void Rows::end() {
  if (rows_ == 0) return;
  Console::print(table_->text(colours_));
  *table_ = Table(titles(false));
  rows_ = 0;
}

void Rows::begin(const json& line) {
  begun_ = true;
  for (const ListingColumn& column : all_)
    if (!column.optional || line.contains(column.name)) columns_.push_back(column);
  table_.emplace(titles(true));
}

/// The titles stand once; the widths of the first piece stay.
std::vector<std::pair<std::string, Table::Align>> Rows::titles(bool shown) const {
  std::vector<std::pair<std::string, Table::Align>> out;
  for (const ListingColumn& column : columns_) out.emplace_back(shown ? column.title : "", column.align);
  return out;
}

int show_listing(Console& console, const json& request, const std::vector<ListingColumn>& columns,
                 const std::function<std::string(const json&)>& last_line) {
  return console.repeat([&] {
    Rows rows(columns, console.colours());
    const auto rest = console.stream(request, [&](const std::string& line) {
      if (console.options().json) return Console::put(line + "\n");
      const json object = json::parse(line, nullptr, false);
      if (object.is_object()) rows.add(object);
    });
    if (!rest) return 1;
    rows.end();
    if (!console.options().json && last_line) Console::print(last_line(*rest));
    return 0;
  });
}

}  // namespace asrp::ctl
