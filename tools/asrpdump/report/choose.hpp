// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "options.hpp"
#include "report/report.hpp"

namespace asrp::dump {

/// The reports that the options ask for, in the order in which they speak. Those on sessions write to `out` too.
std::vector<std::unique_ptr<Report>> choose_reports(const Options& options, Out& out);

}  // namespace asrp::dump
