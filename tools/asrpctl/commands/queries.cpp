// SPDX-License-Identifier: BSD-3-Clause
// `queries`: recoveries in flight: which packet waits, who was asked, what was said.
#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Align = Table::Align;

Table::Cell holders(const json& line) {
  std::string out;
  for (const json& each : member(line, "holders"))
    out += (out.empty() ? "" : ", ") + plain(member(each, "address")) + " " + plain(member(each, "answer"));
  return out.empty() ? "-" : out;
}

}  // namespace

Command queries_command() {
  return {"queries",
          "queries in flight: for which packet, who was asked, what was said",
          "asrpctl queries --watch 0.5",
          {},
          [](Console& console) {
            return show_listing(console, {{"command", "queries"}},
                                {{"FLOW", "flow"},
                                 {"FROM", "from"},
                                 {"AGE MS", "age_ms", Align::right},
                                 {"REPEATS", "repeats", Align::right},
                                 {"HELD", "held_packets", Align::right},
                                 {"HOLDERS", "holders", Align::left, holders}},
                                [](const json& rest) { return plain(member(rest, "in_flight")) + " in flight\n"; });
          }};
}

}  // namespace asrp::ctl
