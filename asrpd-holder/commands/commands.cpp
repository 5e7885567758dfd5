// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/commands/commands.hpp"

namespace asrp::holder {

void add_commands(runtime::CommandTable& commands, HolderAccess& holder) {
  for (const auto declare : {backups_command, services_command}) commands.add(declare(holder));
}

}  // namespace asrp::holder
