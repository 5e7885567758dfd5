// SPDX-License-Identifier: BSD-3-Clause
// Text of any octets that claim to be a message, also of damaged ones.
#pragma once

#include <string>

#include "asrp/base/bytes.hpp"
#include "asrp/wire/message.hpp"

namespace asrp::wire {

/// One line: "NS F-NA tcp cookie 00c0ffee st1 203.0.113.7:50000>198.51.100.1:80 st2 ...".
std::string to_line(const Message& message);

/// One line for any octets: as above, or "invalid (length): 0002..." with at most 32 octets in hex.
std::string to_line(Octets octets);

}  // namespace asrp::wire
