// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of the control socket that only a holder has. To add one: a file of its own here with a function that declares
// it, its line below and in commands.cpp; its counterpart is a file in tools/asrpctl/commands.
#pragma once

#include "asrp/engine/holder_engine.hpp"
#include "asrpd-holder/config.hpp"
#include "runtime/control_command.hpp"

namespace asrp::holder {

/// What commands may use of the running holder, in the loop's thread.
class HolderAccess {
 public:
  virtual ~HolderAccess() = default;
  /// In force now.
  [[nodiscard]] virtual const HolderConfig& config() const = 0;
  [[nodiscard]] virtual engine::HolderEngine& engine() = 0;
};

/// Adds all. `holder` must outlive the table.
void add_commands(runtime::CommandTable& commands, HolderAccess& holder);

runtime::ControlCommand backups_command(HolderAccess& holder);
runtime::ControlCommand services_command(HolderAccess& holder);

}  // namespace asrp::holder
