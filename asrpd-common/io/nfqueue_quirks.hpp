// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel's answers about a queue really mean.
#pragma once

#include <cstdint>
#include <string>

namespace asrp::io {

/// What the operator can do about `error_number`, the answer to a configuration message for queue `number`.
std::string bind_advice(std::uint16_t number, int error_number);

}  // namespace asrp::io
