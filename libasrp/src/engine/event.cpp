// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/event.hpp"

namespace asrp::engine {

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::session_created:
      return "session_created";
    case EventKind::message_sent:
      return "message_sent";
    case EventKind::message_received:
      return "message_received";
    case EventKind::message_discarded:
      return "message_discarded";
    case EventKind::session_restored:
      return "session_restored";
    case EventKind::recovery_abandoned:
      return "recovery_abandoned";
    case EventKind::session_unprotected:
      return "session_unprotected";
    case EventKind::holder_alive:
      return "holder_alive";
    case EventKind::holder_gone:
      return "holder_gone";
    case EventKind::backup_stored:
      return "backup_stored";
    case EventKind::backup_released:
      return "backup_released";
    case EventKind::backup_conflict:
      return "backup_conflict";
    case EventKind::limit_reached:
      return "limit_reached";
  }
  return "?";
}

}  // namespace asrp::engine
