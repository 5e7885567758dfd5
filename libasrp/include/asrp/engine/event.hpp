// SPDX-License-Identifier: BSD-3-Clause
// What happened, for logs, the demos' live view and tests. Cheap to make, free to ignore.
#pragma once

#include <cstdint>
#include <string_view>

#include "asrp/base/address.hpp"
#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::engine {

enum class EventKind : std::uint8_t {
  session_created,      // node: new session; `session`
  message_sent,         // `detail` = message type and carriage, `flow`, `peer`
  message_received,     // `detail` = message type and carriage, `flow`, `peer`
  message_discarded,    // `detail` = reason, `flow`, `peer`
  session_restored,     // node: by RS or PS (`detail`); `session`, `latency` since the first held packet
  recovery_abandoned,   // node: `detail` = "no-session" or "silence"; `flow`, `latency`
  session_unprotected,  // node: no NA after all tries, or no holder; `session`
  holder_alive,         // node: `peer`
  holder_gone,          // node: `peer`
  backup_stored,        // holder: `session`
  backup_released,      // holder: `session`, `detail` = why
  backup_conflict,      // holder: NC sent; `session` = the one in the way
  limit_reached,        // `detail` = which one
};
/// "session_created" ...
std::string_view to_string(EventKind kind);

struct Event {
  TimePoint at;
  EventKind kind;
  Tuple flow{};  // the packet's or message's tuple
  TuplePair session{};
  IpAddress peer{};
  Duration latency{};
  std::string_view detail{};  // static storage
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
};

}  // namespace asrp::engine
