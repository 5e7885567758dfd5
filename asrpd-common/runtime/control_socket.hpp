// SPDX-License-Identifier: GPL-2.0-or-later
// The Unix socket beside a daemon: newline-delimited JSON. A request is {"command": "..."}; its answer is one line with
// {"ok": true, ...} or {"ok": false, "error": "..."}. `events` answers {"ok": true} and then a line per engine event; a client
// that reads too slowly loses lines, and is told how many by {"lost": n}.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

class ControlSocket {
 public:
  /// Answers a command with the members of the answer, e.g. `"counters":{...}`; false if there is no such command.
  using Handler = std::function<bool(std::string_view command, std::string& members)>;

  static constexpr std::size_t kMaxClients = 64;
  static constexpr std::size_t kMaxRequest = 4096;            // octets of one line
  static constexpr std::size_t kMaxQueued = 4 * 1024 * 1024;  // octets that wait for one client

  /// Listens at `path`, mode 0660. A stale socket file is replaced; one that a running daemon answers at is an error. `loop`
  /// must outlive the object.
  static Result<std::unique_ptr<ControlSocket>, io::IoError> open(EventLoop& loop, const std::string& path, Handler handler);
  virtual ~ControlSocket() = default;

  /// Whether some client wants event lines, and a callback for when that changes.
  virtual void on_subscription(std::function<void(bool wanted)> changed) = 0;
  /// Sends a line to all clients that want events.
  virtual void publish(const std::string& line) = 0;
};

/// Whether a program answers at this control socket: another instance is running.
bool is_answered(const std::string& path);

/// One line of the answer to `counters`.
struct CounterLine {
  std::string name;
  std::uint64_t value = 0;
  std::string help;
};

/// Appends all of an engine's counters. `info_of` names and explains one.
template <typename Counter, typename Counters, typename Info>
void append_counters(std::vector<CounterLine>& lines, const Counters& counters, Info info_of) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Counter::count_); ++i) {
    const auto info = info_of(static_cast<Counter>(i));
    lines.push_back({std::string(info.name), counters.values()[i], std::string(info.help)});
  }
}

/// `"counters":{"name":value,...},"help":{"name":"text",...}`.
std::string counters_members(const std::vector<CounterLine>& lines);

}  // namespace asrp::runtime
