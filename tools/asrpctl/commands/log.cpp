// SPDX-License-Identifier: BSD-3-Clause
// `log`: how much the daemon writes to its log, until the next reload or start.
#include <memory>

#include "commands/commands.hpp"

namespace asrp::ctl {

Command log_command() {
  const auto level = std::make_shared<std::string>();
  return {"log",
          "shows or changes how much is logged, until the next reload or start",
          "asrpctl log debug",
          [level](CLI::App& app) {
            app.add_option("LEVEL", *level, "debug, info, warning or error")
                ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
          },
          [level](Console& console) {
            nlohmann::json request = {{"command", "log"}};
            if (!level->empty()) request["level"] = *level;
            return console.show(request, [](const Sample& sample) { return plain(member(sample.now, "level")) + "\n"; });
          },
          false};
}

}  // namespace asrp::ctl
