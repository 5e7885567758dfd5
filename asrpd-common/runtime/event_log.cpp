// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/event_log.hpp"

#include <cstdio>

#include "runtime/clock.hpp"

namespace asrp::runtime {
namespace {

// Events leave what they do not have at zero; a probe's all-zero tuple of IPv6 says nothing either.
bool is_set(const IpAddress& address) { return !address.is_unspecified(); }
bool is_set(const Tuple& tuple) { return is_set(tuple.src.address) || is_set(tuple.dst.address); }

std::string milliseconds(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double, std::milli>(duration).count());
  return text;
}

void add_json(std::string& out, std::string_view key, const std::string& value) {
  out += ",\"";
  out += key;
  out += "\":";
  out += value;
}

}  // namespace

std::string event_text(const engine::Event& event) {
  std::string text;
  if (is_set(event.session.client_side)) {
    text += event.session.client_side.to_string() + " as " + event.session.server_side.to_string();
  }
  if (text.empty() && is_set(event.flow)) text += event.flow.to_string();
  if (is_set(event.peer)) text += (text.empty() ? "peer " : " peer ") + event.peer.to_string();
  if (!event.detail.empty()) text += " (" + std::string(event.detail) + ")";
  if (event.latency != Duration::zero()) text += " after " + milliseconds(event.latency) + " ms";
  if (event.kind == engine::EventKind::holder_gone)
    text +=
        " does not answer: is asrpd-holder running there, is this node among its `nodes`, does UDP to ASRP-PORT pass both "
        "ways?";
  return text;
}

std::string event_json(const engine::Event& event, double wall_time) {
  char time[32];
  std::snprintf(time, sizeof time, "%.6f", wall_time);
  std::string out = "{\"time\":" + std::string(time);
  add_json(out, "kind", json_quoted(to_string(event.kind)));
  if (is_set(event.flow)) add_json(out, "flow", json_quoted(event.flow.to_string()));
  if (is_set(event.session.client_side)) {
    add_json(out, "session",
             "{\"client_side\":" + json_quoted(event.session.client_side.to_string()) +
                 ",\"server_side\":" + json_quoted(event.session.server_side.to_string()) + "}");
  }
  if (is_set(event.peer)) add_json(out, "peer", json_quoted(event.peer.to_string()));
  if (event.latency != Duration::zero()) add_json(out, "latency_ms", milliseconds(event.latency));
  if (!event.detail.empty()) add_json(out, "detail", json_quoted(event.detail));
  return out + "}";
}

LogLevel event_level(const engine::Event& event) {
  using engine::EventKind;
  switch (event.kind) {
    case EventKind::recovery_abandoned:
      // That nobody has the session is an answer, and for UDP the ordinary one; silence is not.
      return event.detail == "no-session" ? LogLevel::debug : LogLevel::warning;
    case EventKind::holder_gone:
    case EventKind::limit_reached:
      return LogLevel::warning;
    case EventKind::session_restored:
    case EventKind::session_unprotected:
    case EventKind::holder_alive:
    case EventKind::backup_conflict:
      return LogLevel::info;
    default:
      return LogLevel::debug;
  }
}

void EventLog::on_event(const engine::Event& event) {
  log_lazily(event_level(event), engine::to_string(event.kind), [&event] { return event_text(event); });
  if (line_sink_) line_sink_(event_json(event, wall_clock_seconds()));
}

}  // namespace asrp::runtime
