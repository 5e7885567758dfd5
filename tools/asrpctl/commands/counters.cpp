// SPDX-License-Identifier: BSD-3-Clause
// `counters`: by event and by reason; with --watch also how fast they grow.
#include <map>
#include <memory>

#include "commands/commands.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;

std::string rate_text(const std::string& name, std::uint64_t value, const Sample& sample) {
  const json& old = member(member(*sample.before, "counters"), name.c_str());
  const std::uint64_t before = old.is_number_unsigned() ? old.get<std::uint64_t>() : 0;
  if (value <= before || sample.seconds <= 0) return "";
  return short_number(static_cast<double>(value - before) / sample.seconds) + "/s";
}

std::string counters_text(const Sample& sample, bool all) {
  std::vector<std::pair<std::string, Table::Align>> columns(2, {"", Table::Align::left});
  columns[1].second = Table::Align::right;
  if (sample.before != nullptr) columns.emplace_back("", Table::Align::right);
  columns.emplace_back("", Table::Align::left);
  Table table(columns);
  const json& counters = member(sample.now, "counters");
  const json& help = member(sample.now, "help");
  for (const auto& [name, value] : counters.items()) {
    if (!value.is_number_unsigned() || (value == json(0) && !all)) continue;
    std::vector<Table::Cell> row = {printable(name), plain(value)};
    if (sample.before != nullptr) row.emplace_back(rate_text(name, value.get<std::uint64_t>(), sample));
    row.emplace_back(plain(member(help, name.c_str())), Colour::faint);
    table.add(std::move(row));
  }
  return table.empty() ? "all counters are 0\n" : table.text(sample.colours);
}

}  // namespace

Command counters_command() {
  const auto all = std::make_shared<bool>(false);
  return {"counters", "counters by event and by reason, sorted by name", "asrpctl counters --watch",
          [all](CLI::App& app) { app.add_flag("--all", *all, "also those that are 0"); },
          [all](Console& console) {
            return console.show(
                {{"command", "counters"}}, [all](const Sample& sample) { return counters_text(sample, *all); },
                [](const json& answer) { return member(answer, "counters"); });
          }};
}

}  // namespace asrp::ctl
