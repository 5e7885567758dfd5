// SPDX-License-Identifier: BSD-3-Clause
#include "engine/message_detail.hpp"

#include <array>

#include "asrp/base/assert.hpp"

namespace asrp::engine {
namespace {

#define ASRP_CARRIAGES(type) \
  type " inline-tcp", type " inline-udp", type " separate-tcp", type " separate-udp", type " standalone"

constexpr std::size_t kCarriages = 5;
constexpr std::array<std::string_view, kCarriages * wire::kMsgTypeCount> kDetails{
    ASRP_CARRIAGES("NS"), ASRP_CARRIAGES("NA"), ASRP_CARRIAGES("QS"), ASRP_CARRIAGES("RS"),
    ASRP_CARRIAGES("RX"), ASRP_CARRIAGES("HS"), ASRP_CARRIAGES("PS"), ASRP_CARRIAGES("NC"),
};

#undef ASRP_CARRIAGES

}  // namespace

std::string_view message_detail(wire::MsgType type, packet::Carriage carriage) {
  const std::size_t index = static_cast<std::size_t>(type) * kCarriages + static_cast<std::size_t>(carriage);
  ASRP_ASSERT(index < kDetails.size());
  return kDetails[index];
}

}  // namespace asrp::engine
