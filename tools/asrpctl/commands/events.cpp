// SPDX-License-Identifier: BSD-3-Clause
// `events`: what happens, as it happens.
#include "commands/commands.hpp"

namespace asrp::ctl {

Command events_command() {
  return {"events",
          "engine events as they happen, one JSON object per line",
          "asrpctl events | grep session_restored",
          {},
          [](Console& console) {
            return console.follow({{"command", "events"}});
          },
          false};
}

}  // namespace asrp::ctl
