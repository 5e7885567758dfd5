// SPDX-License-Identifier: BSD-3-Clause
// Static texts for Event::detail.
#pragma once

#include <string_view>

#include "asrp/packet/carriage.hpp"
#include "asrp/wire/types.hpp"

namespace asrp::engine {

/// "NS inline-tcp", "RS standalone" ...
std::string_view message_detail(wire::MsgType type, packet::Carriage carriage);

}  // namespace asrp::engine
