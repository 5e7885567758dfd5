// SPDX-License-Identifier: BSD-3-Clause
#include "packet.hpp"

#include <array>

namespace asrp::dump {
namespace {

constexpr std::array<std::string_view, 8> kReasonNames{"", "version", "type", "sttype", "length", "truncated", "ocs", "option"};

}  // namespace

std::string_view to_string(Reason reason) {
  const auto number = static_cast<std::uint8_t>(reason);
  return number < kReasonNames.size() ? kReasonNames[number] : "?";
}

}  // namespace asrp::dump
