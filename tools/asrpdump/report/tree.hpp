// SPDX-License-Identifier: BSD-3-Clause
// Every field of a message in a row of its own, with its octets; also of messages that are damaged or cut off.
#pragma once

#include <string>

#include "packet.hpp"

namespace asrp::dump {

/// Appends what carries the message and the message's fields, each line indented and ended. Precondition: a view and a
/// sighting.
void append_tree(std::string& out, const Packet& packet);

}  // namespace asrp::dump
