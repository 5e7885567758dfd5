// SPDX-License-Identifier: BSD-3-Clause
// `status`: what runs, whether it is ready, the digests that nodes of a cluster compare, and gauges.
#include "commands/commands.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;

/// A line for each: "service web: address 192.0.2.1:80 ...".
std::string items_text(const std::string& kind, const json& items) {
  std::string out;
  if (!items.is_array()) return out;
  for (const json& item : items) {
    out += kind + " " + plain(member(item, "name")) + ":";
    for (const auto& [name, value] : item.items())
      if (name != "name") out += " " + printable(name) + " " + plain(value);
    out += "\n";
  }
  return out;
}

std::string status_text(const Sample& sample) {
  Table table({{"", Table::Align::left}, {"", Table::Align::left}});
  for (const auto& [name, value] : sample.now.items()) {
    if (name == "ok" || value.is_structured()) continue;
    if (name == "uptime_s" && value.is_number()) {
      table.add({"uptime", duration_text(value.get<double>())});
    } else if (name == "ready") {
      table.add({"ready", {plain(value), value == json(true) ? Colour::good : Colour::bad}});
    } else {
      table.add({printable(name), plain(value)});
    }
  }
  for (const auto& [name, value] : member(sample.now, "gauges").items()) table.add({printable(name), plain(value)});
  std::string out = table.text(sample.colours);
  return out + items_text("service", member(sample.now, "services")) + items_text("network", member(sample.now, "networks"));
}

}  // namespace

Command status_command() {
  return {"status", "what runs: version, readiness, digests, gauges", "asrpctl status --watch 2", {}, [](Console& console) {
            return console.show({{"command", "status"}}, status_text);
          }};
}

}  // namespace asrp::ctl
