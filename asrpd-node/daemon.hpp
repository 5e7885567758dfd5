// SPDX-License-Identifier: GPL-2.0-or-later
// The running node: its edges, engine, driver and rules in the frame that both daemons have.
#pragma once

#include <memory>
#include <optional>

#include "asrp/base/result.hpp"
#include "asrpd-node/config.hpp"
#include "frame/daemon.hpp"
#include "io/error.hpp"

namespace asrp::node {

std::unique_ptr<frame::Daemon> make_daemon(NodeConfig config, frame::Identity identity);

/// --remove-rules: takes rules away and puts sysctls back. Refused while a node runs in this network namespace. Without a
/// `config` the rules tell the state_dir.
Result<Done, io::IoError> remove_everything(const std::optional<NodeConfig>& config);

}  // namespace asrp::node
