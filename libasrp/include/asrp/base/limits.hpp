// SPDX-License-Identifier: BSD-3-Clause
// Every bound has a name, a unit and a reason. Operators change the defaults in the configuration where a key exists.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace asrp {

// --- fixed by the draft -------------------------------------------------------------------------------------------
inline constexpr std::uint8_t kVersion = 0;           // 4.1
inline constexpr std::size_t kHeaderSize = 12;        // 4.1.1
inline constexpr std::uint16_t kDefaultPort = 51200;  // spec: 7.3-1; ASRP-PORT until one is assigned

// --- chosen here --------------------------------------------------------------------------------------------------
inline constexpr std::uint16_t kDefaultExId = 0x4153;   // "AS"; not registered, hence configurable
inline constexpr std::size_t kMaxSessionData = 64;      // octets a holder stores; more is refused (decision 20)
inline constexpr std::size_t kMaxCandidates = 8;        // servers in one round of queries (decision 11)
inline constexpr std::size_t kMaxMappingTries = 8;      // mappings that holders are told of for one session (decision 6)
inline constexpr std::size_t kMaxFullNatTries = 64;     // full-NAT ports tried for one session, local conflicts too
inline constexpr std::size_t kMaxExtensionHeaders = 8;  // IPv6 chain walked; longer is "not handled"

}  // namespace asrp
