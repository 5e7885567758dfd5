// SPDX-License-Identifier: BSD-3-Clause
#include "show.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace asrp::ctl {
namespace {

using nlohmann::json;

std::string padded_left(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : std::string(width - text.size(), ' ') + text;
}
std::string padded_right(const std::string& text, std::size_t width) {
  return text.size() >= width ? text : text + std::string(width - text.size(), ' ');
}

std::string plain(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string change_since(const std::string& name, std::uint64_t value, const Counters& before) {
  const auto found = before.find(name);
  const std::uint64_t old = found == before.end() ? 0 : found->second.value;
  return value > old ? "+" + std::to_string(value - old) : "";
}

}  // namespace

Counters parse_counters(const std::string& answer) {
  Counters out;
  const json parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("counters")) return out;
  const json help = parsed.value("help", json::object());
  for (const auto& [name, value] : parsed["counters"].items())
    if (value.is_number_unsigned()) out[name] = {value.get<std::uint64_t>(), help.value(name, std::string())};
  return out;
}

std::string counters_table(const Counters& now, const Counters* before, bool all) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const auto& [name, counter] : now) {
    if (counter.value == 0 && !all) continue;
    name_width = std::max(name_width, name.size());
    value_width = std::max(value_width, std::to_string(counter.value).size());
  }
  std::string out;
  for (const auto& [name, counter] : now) {
    if (counter.value == 0 && !all) continue;
    out += padded_right(name, name_width) + "  " + padded_left(std::to_string(counter.value), value_width);
    if (before != nullptr) out += padded_left(change_since(name, counter.value, *before), 10);
    out += "  " + counter.help + "\n";
  }
  return out.empty() ? "all counters are 0\n" : out;
}

std::string counters_json(const std::string& answer) {
  const json parsed = json::parse(answer, nullptr, false);
  return parsed.is_object() && parsed.contains("counters") ? parsed["counters"].dump() : "{}";
}

std::string status_json(const std::string& answer) {
  json parsed = json::parse(answer, nullptr, false);
  if (!parsed.is_object()) return "{}";
  parsed.erase("ok");
  return parsed.dump();
}

std::string status_text(const std::string& answer) {
  const json parsed = json::parse(answer, nullptr, false);
  std::string out;
  if (!parsed.is_object()) return out;
  for (const auto& [key, value] : parsed.items())
    if (key != "ok" && !value.is_structured()) out += padded_right(key, 20) + plain(value) + "\n";
  const json gauges = parsed.value("gauges", json::object());
  for (const auto& [key, value] : gauges.items()) out += padded_right(key, 20) + plain(value) + "\n";
  const json services = parsed.value("services", json::array());
  for (const json& service : services) {
    out += "service " + plain(service.value("name", json())) + ":";
    for (const auto& [key, value] : service.items())
      if (key != "name") out += " " + key + " " + plain(value);
    out += "\n";
  }
  return out;
}

Terminal::Terminal() : is_terminal_(isatty(STDOUT_FILENO) != 0) {}

void Terminal::begin_screen() const { std::fputs(is_terminal_ ? "\033[H\033[2J" : "\n", stdout); }

}  // namespace asrp::ctl
