// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/commands/commands.hpp"

namespace asrp::node {

void add_commands(runtime::CommandTable& commands, NodeAccess& node) {
  for (const auto declare : {backends_command, drain_command, drains_command, epochs_command, epochs_export_command,
                             epochs_import_command, explain_command, nat_lookup_command, nat_ranges_command, queries_command,
                             ready_command, services_command, sessions_command, undrain_command})
    commands.add(declare(node));
}

}  // namespace asrp::node
