// SPDX-License-Identifier: GPL-2.0-or-later
// Engine events as log lines and as JSON lines for `asrpctl events`. Costs a comparison per event when nobody looks.
#pragma once

#include <functional>
#include <string>

#include "asrp/engine/event.hpp"
#include "runtime/log.hpp"

namespace asrp::runtime {

/// What an event tells besides its kind: "tcp 192.0.2.1:1000>198.51.100.1:80 as tcp 192.0.2.1:1000>10.0.0.2:80 peer 10.0.0.2
/// (RS) after 1.200 ms".
std::string event_text(const engine::Event& event);
/// One JSON object without a line end: `time` (seconds since 1970), `kind` and what the event has of `flow`, `session`
/// (`client_side`, `server_side`), `peer`, `latency_ms`, `detail`.
std::string event_json(const engine::Event& event, double wall_time);
/// Levels by how much an operator wants to know: what is lost is a warning, what is ordinary is for debugging.
LogLevel event_level(const engine::Event& event);

class EventLog final : public engine::EventSink {
 public:
  /// Where JSON lines go; an empty function stops them.
  using LineSink = std::function<void(const std::string& line)>;

  void on_event(const engine::Event& event) override;
  void set_line_sink(LineSink sink) { line_sink_ = std::move(sink); }

 private:
  LineSink line_sink_;
};

}  // namespace asrp::runtime
