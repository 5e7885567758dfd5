// SPDX-License-Identifier: GPL-2.0-or-later
// The probe that asks nobody: the engine looks after the holders anyway (decision 8), and knows.
#pragma once

#include <functional>
#include <memory>

#include "asrp/engine/node_engine.hpp"
#include "io/probe.hpp"

namespace asrp::node {

/// `sight`: what the engine has seen of the holder at an address. A look that comes before the engine knows ends when it does.
std::unique_ptr<io::Prober> make_holder_prober(runtime::EventLoop& loop,
                                               std::function<engine::HolderSight(const IpAddress& host)> sight);

}  // namespace asrp::node
