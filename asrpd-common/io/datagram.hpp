// SPDX-License-Identifier: GPL-2.0-or-later
// One datagram now and then, to a host of another daemon. What is sent often goes through PacketSender.
#pragma once

#include <functional>
#include <optional>

#include "asrp/base/address.hpp"
#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::io {

/// Sends what `make` makes to `to`. `make` is told the address that the datagram leaves from: `source`, or what the routes say
/// now. Never waits.
Result<Done, IoError> send_datagram(const Endpoint& to, const std::optional<IpAddress>& source,
                                    const std::function<Buffer(const IpAddress& from)>& make);

}  // namespace asrp::io
