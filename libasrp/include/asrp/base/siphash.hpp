// SPDX-License-Identifier: BSD-3-Clause
// SipHash-2-4 (libsodium's crypto_shorthash): the one keyed hash of the project.
#pragma once

#include <array>
#include <cstdint>

#include "asrp/base/bytes.hpp"

namespace asrp {

/// A SipHash key as configured: 16 octets.
using HashKey = std::array<std::uint8_t, 16>;

/// SipHash-2-4; the 8 result octets read as a little-endian number, as the reference implementation does.
/// The same on every machine.
std::uint64_t siphash(const HashKey& key, Octets input);

}  // namespace asrp
