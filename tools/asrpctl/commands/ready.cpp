// SPDX-License-Identifier: BSD-3-Clause
// `ready`: whether a node asks for flows, as exit status.
#include "commands/commands.hpp"

namespace asrp::ctl {

using nlohmann::json;

Command ready_command() {
  return {"ready", "whether the node asks for flows: status 0, or 1 and why not", "asrpctl ready", {}, [](Console& console) {
            const auto answer = console.ask({{"command", "ready"}});
            if (!answer) return 1;
            const bool ready = member(*answer, "ready") == json(true);
            if (console.options().json) {
              Console::print(json{{"ready", ready}, {"reasons", member(*answer, "reasons")}}.dump() + "\n");
            } else {
              Console::print(ready ? std::string("ready\n") : "not ready: " + plain(member(*answer, "reasons")) + "\n");
            }
            return ready ? 0 : 1;
          }};
}

}  // namespace asrp::ctl
