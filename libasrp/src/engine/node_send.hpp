// SPDX-License-Identifier: BSD-3-Clause
// Names and counters of messages.
#pragma once

#include <string_view>

#include "asrp/engine/node_counters.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/wire/types.hpp"

namespace asrp::engine {

/// "NS inline-tcp": static storage.
std::string_view message_detail(wire::MsgType type, packet::Carriage carriage);

/// The counter of octets that are no message.
NodeCounter decode_reason(wire::DecodeError error);

}  // namespace asrp::engine
