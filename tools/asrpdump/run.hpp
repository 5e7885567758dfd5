// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "options.hpp"

namespace asrp::dump {

/// Reads, decodes, reports. Returns the exit status: 0 read to the end, 1 error, 2 wrong usage, 3 certain findings of --check.
int run(const Options& options);

}  // namespace asrp::dump
