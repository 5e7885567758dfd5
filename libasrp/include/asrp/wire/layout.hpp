// SPDX-License-Identifier: BSD-3-Clause
// What each message type carries: the table behind validation, encoding and printing (draft 4.1.2, 4.3.1-3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asrp/wire/types.hpp"

namespace asrp::wire {

enum class TupleCount : std::uint8_t { none = 0, one = 1, pair = 2 };

struct TypeLayout {
  TupleCount tuples;
  bool has_node_local_ip;
  std::size_t reserved_body;  // octets after the header that are sent as zero and ignored
};

inline constexpr std::array<TypeLayout, kMsgTypeCount> kTypeLayouts{{
    {TupleCount::pair, true, 0},   // NS
    {TupleCount::pair, false, 0},  // NA
    {TupleCount::one, false, 0},   // QS
    {TupleCount::pair, false, 0},  // RS
    {TupleCount::one, false, 0},   // RX
    {TupleCount::none, false, 4},  // HS
    {TupleCount::pair, false, 0},  // PS
    {TupleCount::pair, false, 0},  // NC
}};

inline constexpr std::size_t kSt4Size = 12;
inline constexpr std::size_t kSt6Size = 36;

struct StLayout {
  TupleCount tuples;
  bool first_v6;
  bool second_v6;
};

inline constexpr std::array<StLayout, kStTypeCount> kStLayouts{{
    {TupleCount::none, false, false},  // NULL
    {TupleCount::pair, false, false},  // ST44
    {TupleCount::pair, true, true},    // ST66
    {TupleCount::pair, false, true},   // ST46
    {TupleCount::pair, true, false},   // ST64
    {TupleCount::one, false, false},   // ST4
    {TupleCount::one, true, false},    // ST6
}};

}  // namespace asrp::wire
