// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses that a configuration can name as those of hosts.
#pragma once

#include <string_view>

#include "asrp/base/address.hpp"

namespace asrp::config {

/// Why packets of a network cannot be for one host at this address ("a multicast address"); empty if they can.
std::string_view why_no_host(const IpAddress& address);

}  // namespace asrp::config
