// SPDX-License-Identifier: GPL-2.0-or-later
// What a node in ACT mode tells of itself.
#pragma once

#include <string>

#include "asrpd-node/config.hpp"
#include "asrpd-node/mappings.hpp"
#include "runtime/control_socket.hpp"
#include "runtime/digest.hpp"
#include "runtime/metrics_page.hpp"

namespace asrp::node {

/// Members of the answer to `status`, in either mode: "mode" and, in ACT mode, what the gateway has. Ends with a comma.
std::string mode_members(const NodeConfig& config);
/// The same for programs that watch. Slices are of one gateway each: two that show the same one are a mistake.
void add_mode_metrics(runtime::MetricsPage& page, const engine::NodeOptions& options);
/// What the index of mappings has, in the answer to `status`. Ends with a comma.
std::string mapping_members(const Mappings::Statistics& mappings);
/// The same for programs that watch, and what it has done.
void add_mapping_metrics(runtime::MetricsPage& page, const Mappings::Statistics& mappings);
void append_mapping_counters(std::vector<runtime::CounterLine>& lines, const Mappings::Statistics& mappings);
/// All by which gateways choose outside ports alike, except the slice, which is this gateway's own (decision 28).
void add_to_placement(runtime::Digest& digest, const engine::NodeOptions& options);

}  // namespace asrp::node
