// SPDX-License-Identifier: BSD-3-Clause
// Names and numbers of the draft, 4.1.
#pragma once

#include <cstdint>
#include <string_view>

namespace asrp::wire {

enum class MsgType : std::uint8_t { NS = 0, NA = 1, QS = 2, RS = 3, RX = 4, HS = 5, PS = 6, NC = 7 };
inline constexpr std::uint8_t kMsgTypeCount = 8;

enum class StType : std::uint8_t { null = 0, ST44 = 1, ST66 = 2, ST46 = 3, ST64 = 4, ST4 = 5, ST6 = 6 };
inline constexpr std::uint8_t kStTypeCount = 7;

inline constexpr std::uint8_t kFlagLip6 = 0x01;  // F-LIP6: Node-Local-IP is IPv6 (NS)
inline constexpr std::uint8_t kFlagCc = 0x02;    // F-CC: the conflict is on the client side (NC)
inline constexpr std::uint8_t kFlagNa = 0x04;    // F-NA: acknowledgment requested (NS)
inline constexpr std::uint8_t kFlagsAssigned = kFlagLip6 | kFlagCc | kFlagNa;

/// "NS" ... "NC"; "?" for an unknown number.
std::string_view to_string(MsgType type);
/// "NULL", "ST44" ...; "?" for an unknown number.
std::string_view to_string(StType type);

/// Why octets are not a message (draft 4.3.1). The names are those of asrpdump's `reason`.
enum class DecodeError : std::uint8_t { truncated, version, type, sttype, length };
std::string_view to_string(DecodeError error);

}  // namespace asrp::wire
