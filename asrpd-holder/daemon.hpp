// SPDX-License-Identifier: GPL-2.0-or-later
// The running holder: its edges, store, engine, driver and rules in the frame that both daemons have.
#pragma once

#include <memory>

#include "asrp/base/result.hpp"
#include "asrpd-holder/config.hpp"
#include "frame/daemon.hpp"
#include "io/error.hpp"

namespace asrp::holder {

std::unique_ptr<frame::Daemon> make_daemon(HolderConfig config, frame::Identity identity);

/// --remove-rules. Refused while a holder runs in this network namespace.
Result<Done, io::IoError> remove_everything();

}  // namespace asrp::holder
