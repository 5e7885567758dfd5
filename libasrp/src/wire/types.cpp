// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/types.hpp"

#include <array>
#include <cstddef>

namespace asrp::wire {
namespace {

template <std::size_t N>
std::string_view name_of(const std::array<std::string_view, N>& names, std::uint8_t number) {
  return number < N ? names[number] : "?";
}

constexpr std::array<std::string_view, kMsgTypeCount> kMsgTypeNames{"NS", "NA", "QS", "RS", "RX", "HS", "PS", "NC"};
constexpr std::array<std::string_view, kStTypeCount> kStTypeNames{"NULL", "ST44", "ST66", "ST46", "ST64", "ST4", "ST6"};
constexpr std::array<std::string_view, 5> kDecodeErrorNames{"truncated", "version", "type", "sttype", "length"};

}  // namespace

std::string_view to_string(MsgType type) { return name_of(kMsgTypeNames, static_cast<std::uint8_t>(type)); }
std::string_view to_string(StType type) { return name_of(kStTypeNames, static_cast<std::uint8_t>(type)); }
std::string_view to_string(DecodeError error) { return name_of(kDecodeErrorNames, static_cast<std::uint8_t>(error)); }

}  // namespace asrp::wire
