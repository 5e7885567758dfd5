// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: may a session that a message brings exist in this cluster (draft section 5)? What legitimacy.hpp is for PSV.
#pragma once

#include <span>

#include "asrp/base/tuple.hpp"
#include "asrp/policy/legitimacy.hpp"
#include "asrp/policy/port_ranges.hpp"

namespace asrp::policy {

/// The source of ST2 must be an outside endpoint that the source of ST1 may have, in whatever slice, by `ranges` or those of a
/// former configuration; and both must go to the same destination, or from one client to another through the outside endpoint
/// of that one. So a client can tell lies about its own range only.
Legitimacy check_legitimacy(const PortRanges& ranges, std::span<const PortRanges> past, const TuplePair& session);

}  // namespace asrp::policy
