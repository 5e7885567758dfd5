// SPDX-License-Identifier: GPL-2.0-or-later
// What only the whole configuration shows: names, families, overlaps. Used by config.cpp.
#pragma once

#include <vector>

#include "asrpd-node/config.hpp"

namespace asrp::node {

/// The readers of the tables that `config` was read from, in its order: where to report.
struct Places {
  config::Reader& node;
  config::Reader& marks;
  std::vector<config::Reader>& pools;
  std::vector<config::Reader>& services;
};

void check_config(const NodeConfig& config, Places places);

}  // namespace asrp::node
