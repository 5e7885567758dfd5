// SPDX-License-Identifier: GPL-2.0-or-later
// Route MTUs through rtnetlink, cached for a second per destination, bounded.
#pragma once

#include <memory>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "io/error.hpp"

namespace asrp::io {

Result<std::unique_ptr<engine::Paths>, IoError> open_route_paths();

}  // namespace asrp::io
