// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"

namespace asrp::ctl {

std::vector<Command> all_commands() {
  return {status_command(),  services_command(), backends_command(), sessions_command(), backups_command(), queries_command(),
          epochs_command(),  nat_command(),      explain_command(),  counters_command(), events_command(),  drain_command(),
          undrain_command(), drains_command(),   ready_command(),    log_command(),      reload_command()};
}

}  // namespace asrp::ctl
