// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/print.hpp"

#include <algorithm>

#include "asrp/wire/decode.hpp"
#include "asrp/wire/layout.hpp"

namespace asrp::wire {
namespace {

constexpr std::size_t kShownOctets = 32;  // of octets that are no message: enough for the header and a tuple

std::string cookie_text(Cookie cookie) {
  std::uint8_t octets[4];
  store_u32(octets, 0, cookie.value);
  return to_hex(octets);
}

std::string endpoints_text(const Tuple& tuple) { return tuple.src.to_string() + ">" + tuple.dst.to_string(); }

}  // namespace

std::string to_line(const Message& message) {
  const auto number = static_cast<std::uint8_t>(message.type);
  std::string line(to_string(message.type));
  if (message.has(kFlagLip6)) line += " F-LIP6";
  if (message.has(kFlagCc)) line += " F-CC";
  if (message.has(kFlagNa)) line += " F-NA";
  line += " " + asrp::to_string(message.protocol) + " cookie " + cookie_text(message.cookie);
  if (number >= kMsgTypeCount) return line;
  const TypeLayout& layout = kTypeLayouts[number];
  if (layout.tuples != TupleCount::none) line += " st1 " + endpoints_text(message.st1);
  if (layout.tuples == TupleCount::pair) line += " st2 " + endpoints_text(message.st2);
  if (!message.session_data.empty()) line += " data " + to_hex(message.session_data);
  if (layout.has_node_local_ip) line += " node " + message.node_local_ip.to_string();
  return line;
}

std::string to_line(Octets octets) {
  const auto decoded = decode(octets);
  if (decoded) return to_line(decoded->message);
  std::string line = "invalid (" + std::string(to_string(decoded.error())) + "): ";
  line += to_hex(octets.first(std::min(octets.size(), kShownOctets)));
  if (octets.size() > kShownOctets) line += "...";
  return line;
}

}  // namespace asrp::wire
