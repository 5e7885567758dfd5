// SPDX-License-Identifier: BSD-3-Clause
// Addresses as text, appended to a string that is reused: no allocation once it has grown.
#pragma once

#include <string>

#include "asrp/base/address.hpp"

namespace asrp {

/// As IpAddress::to_string().
void append_address(std::string& out, const IpAddress& address);
/// As Endpoint::to_string(): "192.0.2.1:80" or "[2001:db8::1]:80".
void append_endpoint(std::string& out, const Endpoint& endpoint);

}  // namespace asrp
