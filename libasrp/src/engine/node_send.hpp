// SPDX-License-Identifier: BSD-3-Clause
// Names and counters of messages.
#pragma once

#include "asrp/engine/node_counters.hpp"
#include "asrp/wire/types.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {

/// The counter of octets that are no message.
NodeCounter decode_reason(wire::DecodeError error);

}  // namespace asrp::engine
