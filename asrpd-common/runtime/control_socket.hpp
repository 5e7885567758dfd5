// SPDX-License-Identifier: GPL-2.0-or-later
// The Unix socket beside a daemon: newline-delimited JSON, whose requests and answers control_command.hpp describes. A client
// has one request at a time: what it sends meanwhile waits in its own socket. `events` answers {"ok": true} and then a line per
// engine event; a client that reads too slowly loses lines, and is told how many by {"lost": n}.
//
// Who may connect is what the file's mode and group say, from its first instant on. What comes is bounded all the same: the
// octets of a line, the clients, what waits for each of them, and how long one may leave an answer unread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrp/base/time.hpp"
#include "io/error.hpp"
#include "runtime/control_command.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::runtime {

/// Where the socket is and who may use it.
struct ControlPlace {
  std::string path;
  std::uint32_t mode = 0660;
  std::string group = {};  // empty: the daemon's own
  friend bool operator==(const ControlPlace&, const ControlPlace&) = default;
};

class ControlSocket {
 public:
  static constexpr std::size_t kMaxClients = 64;
  static constexpr std::size_t kMaxRequest = 4096;     // octets of one line; the client is told and closed
  static constexpr std::size_t kMaxEvents = 1u << 20;  // octets of event lines that wait for one client; the rest is lost
  static constexpr Duration kStall = std::chrono::seconds(30);  // an answer that nobody reads for so long is given up

  /// Listens at `place`. A stale socket file is replaced; one that a running daemon answers at is an error. `loop` and
  /// `commands` must outlive the object; commands may be added later.
  static Result<std::unique_ptr<ControlSocket>, io::IoError> open(EventLoop& loop, const ControlPlace& place,
                                                                  const CommandTable& commands, Duration stall = kStall);
  virtual ~ControlSocket() = default;

  /// Whether some client wants event lines, and a callback for when that changes.
  virtual void on_subscription(std::function<void(bool wanted)> changed) = 0;
  /// Sends a line to all clients that want events.
  virtual void publish(const std::string& line) = 0;
};

/// Whether a program answers at this control socket: another instance is running.
bool is_answered(const std::string& path);
/// The group of this name or number; none if there is no such group.
std::optional<gid_t> find_group(const std::string& name);

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
