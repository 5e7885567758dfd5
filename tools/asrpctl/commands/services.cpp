// SPDX-License-Identifier: BSD-3-Clause
// `services`: what a node serves, or what a holder is told of its host's services.
#include "commands/commands.hpp"

namespace asrp::ctl {

using nlohmann::json;

namespace {

std::string services_text(const Sample& sample) {
  const json& services = member(sample.now, "services");
  const bool of_node = !services.empty() && services[0].contains("pool");
  Table table = of_node
                    ? Table({{"SERVICE", Table::Align::left},
                             {"PROTOCOL", Table::Align::left},
                             {"ADDRESS", Table::Align::left},
                             {"FORWARD", Table::Align::left},
                             {"ROUTING", Table::Align::left},
                             {"POOL", Table::Align::left},
                             {"SERVERS", Table::Align::right},
                             {"ACTIVE", Table::Align::right}})
                    : Table({{"PROTOCOL", Table::Align::left}, {"PORT", Table::Align::right}, {"PUSH", Table::Align::left}});
  for (const json& each : services) {
    const auto text = [&each](const char* name) { return plain(member(each, name)); };
    if (!of_node) {
      table.add({text("protocol"), text("port"), text("push")});
      continue;
    }
    const bool none = member(each, "active") == json(0);
    table.add({text("name"),
               text("protocol"),
               text("address"),
               text("forward"),
               text("routing"),
               text("pool"),
               text("servers"),
               {text("active"), none ? Colour::bad : Colour::none}});
  }
  return table.empty() ? "no services\n" : table.text(sample.colours);
}

}  // namespace

Command services_command() {
  return {"services", "what is served, and with which pool", "asrpctl services", {}, [](Console& console) {
            return console.show({{"command", "services"}}, services_text);
          }};
}

}  // namespace asrp::ctl
