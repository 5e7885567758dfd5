// SPDX-License-Identifier: GPL-2.0-or-later
// What the holder's control socket answers.
#pragma once

#include <string>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrpd-holder/holder_driver.hpp"
#include "asrpd-holder/load_reporter.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/metrics_page.hpp"

namespace asrp::holder {

std::vector<runtime::CounterLine> counter_lines(const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                                                const HolderDriver::Statistics& driver, const LoadReporter::Statistics& load);
/// Members of the answer to `status` that only a holder has.
std::string status_members(const engine::HolderEngine& engine, const LoadConfig& load);
void add_metrics(runtime::MetricsPage& page, const engine::HolderEngine& engine, const HolderDriver::Edges& edges,
                 const HolderDriver::Statistics& driver, const LoadReporter::Statistics& load);

}  // namespace asrp::holder
