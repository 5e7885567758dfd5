// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/health_config.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "config/text.hpp"

namespace asrp::node {
namespace {

using config::Reader;
using config::shown;
using config::Writer;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// "200" or "200-399".
bool parse_statuses(std::string_view text, unsigned& low, unsigned& high) {
  const char* end = text.data() + text.size();
  auto [middle, error] = std::from_chars(text.data(), end, low);
  if (error != std::errc{}) return false;
  high = low;
  if (middle != end) {
    if (*middle != '-') return false;
    const auto [rest, second] = std::from_chars(middle + 1, end, high);
    if (second != std::errc{} || rest != end) return false;
  }
  return low >= 100 && low <= high && high <= 599;
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

void read_http(Reader& reader, io::ProbeQuestion& out) {
  if (reader.text("path", out.path) && (out.path.empty() || out.path.front() != '/' || !is_plain(out.path)))
    reader.problem("path", "found " + shown(out.path) + ", allowed is a path from \"/\" on, of printable ASCII without spaces");
  if (reader.text("host", out.host) && (out.host.empty() || out.host.size() > 255 || !is_plain(out.host)))
    reader.problem("host", "found " + shown(out.host) + ", allowed is what stands in a Host header: a name, perhaps a port");
  std::string statuses;
  if (!reader.text("status", statuses)) return;
  if (!parse_statuses(statuses, out.lowest_status, out.highest_status))
    reader.problem("status", "found " + shown(statuses) + ", allowed is a status or FIRST-LAST, from 100 to 599");
}

void read_command(Reader& reader, io::ProbeQuestion& out) {
  reader.texts("command", out.command);
  if (!reader.has("command")) return;
  if (out.command.empty()) return reader.problem("command", "is empty, allowed is a program and its arguments");
  if (out.command.front().empty() || out.command.front().front() != '/')
    reader.problem("command", "found " + shown(out.command.front()) + ", allowed is the program's absolute path");
  for (const std::string& each : out.command)
    if (each.find('\0') != std::string::npos) reader.problem("command", "found a NUL octet in " + shown(each));
}

/// Keys that only some checks have.
void refuse_others(Reader& reader, HealthCheck check) {
  struct Key {
    std::string_view name;
    std::vector<HealthCheck> of;
  };
  const std::vector<Key> keys = {
      {"path", {HealthCheck::http}},
      {"host", {HealthCheck::http}},
      {"status", {HealthCheck::http}},
      {"command", {HealthCheck::command}},
      {"timeout", {HealthCheck::tcp, HealthCheck::http, HealthCheck::command}},
      {"port", {HealthCheck::tcp, HealthCheck::http, HealthCheck::command}},
  };
  for (const Key& key : keys) {
    if (!reader.has(key.name) || std::find(key.of.begin(), key.of.end(), check) != key.of.end()) continue;
    std::string names;
    for (const HealthCheck each : key.of) names += (names.empty() ? "\"" : ", \"") + std::string(to_string(each)) + "\"";
    reader.problem(key.name, "is given, but check is \"" + std::string(to_string(check)) + "\"; it is for " + names);
  }
}

}  // namespace

std::string_view to_string(HealthCheck check) {
  switch (check) {
    case HealthCheck::tcp:
      return "tcp";
    case HealthCheck::http:
      return "http";
    case HealthCheck::command:
      return "command";
    case HealthCheck::asrp:
      return "asrp";
  }
  return "";
}

HealthConfig read_health(Reader reader) {
  HealthConfig out;
  std::optional<HealthCheck> check;
  if (reader.require("check"))
    reader.choice<std::optional<HealthCheck>>("check", check,
                                              {{"tcp", HealthCheck::tcp},
                                               {"http", HealthCheck::http},
                                               {"command", HealthCheck::command},
                                               {"asrp", HealthCheck::asrp}});
  if (check) {
    out.check = *check;
    refuse_others(reader, out.check);
    if (out.check == HealthCheck::command) reader.require("command");
  }
  reader.duration("interval", out.rule.interval, milliseconds(100), hours(1));
  reader.integer("jitter", out.rule.jitter, 0, 50);
  reader.integer("rise", out.rule.rise, 1, 100);
  reader.integer("fall", out.rule.fall, 1, 100);
  reader.integer("flaps", out.rule.flaps, 0, 100);
  if (out.rule.flaps == 1) reader.problem("flaps", "found 1, allowed are 0 (no damping) and 2 to 100");
  reader.duration("half_life", out.rule.half_life, seconds(1), hours(24));
  reader.duration("timeout", out.question.timeout, milliseconds(10), std::chrono::minutes(1));
  reader.integer("port", out.port, 1, 65535);
  read_http(reader, out.question);
  read_command(reader, out.question);
  reader.finish();
  return out;
}

void check_health(const HealthConfig& health, const std::vector<engine::Backend>& servers, Reader& pool) {
  if (health.check != HealthCheck::asrp) return;
  for (const engine::Backend& server : servers)
    if (server.holder == engine::HolderPresence::no)
      pool.problem("health.check",
                   "found \"asrp\", but server " + shown(server.id) + " has holder = \"no\": nobody answers there");
}

void write_health(Writer& out, const HealthConfig& health) {
  out.table("pools.health");
  out.text("check", to_string(health.check));
  out.duration("interval", health.rule.interval);
  out.integer("jitter", health.rule.jitter);
  out.integer("rise", health.rule.rise);
  out.integer("fall", health.rule.fall);
  out.integer("flaps", health.rule.flaps);
  out.duration("half_life", health.rule.half_life);
  if (health.check == HealthCheck::asrp) return;
  out.duration("timeout", health.question.timeout);
  if (health.port != 0) out.integer("port", health.port);
  if (health.check == HealthCheck::http) {
    out.text("path", health.question.path);
    if (!health.question.host.empty()) out.text("host", health.question.host);
    out.text("status", std::to_string(health.question.lowest_status) + "-" + std::to_string(health.question.highest_status));
  }
  if (health.check == HealthCheck::command) {
    std::vector<std::string> words;
    for (const std::string& word : health.question.command) words.push_back(Writer::quoted(word));
    out.raw("command", Writer::list(words));
  }
}

}  // namespace asrp::node
