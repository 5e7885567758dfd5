// SPDX-License-Identifier: BSD-3-Clause
// Messages to octets.
#pragma once

#include "asrp/base/bytes.hpp"
#include "asrp/wire/message.hpp"

namespace asrp::wire {

/// Size in octets that `encode` will append: HS 16; QS/RX 24 or 48; NA/NC/RS/PS 36, 60 or 84; NS 4 or 16 more; plus
/// the Session-Data.
std::size_t encoded_size(const Message& message);

/// Appends the message. Cannot fail: the STType follows from the tuples' families, F-LIP6 from `node_local_ip`,
/// Reserved and unassigned flags are zero. Precondition: encoded_size() <= 65535.
void encode(const Message& message, Buffer& out);

}  // namespace asrp::wire
