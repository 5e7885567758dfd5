// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/decode.hpp"

#include <algorithm>

#include "asrp/wire/encode.hpp"
#include "asrp/wire/print.hpp"
#include "fuzz/support/fuzz_target.hpp"

namespace asrp::fuzz {
namespace {

bool same_octets(Octets a, Octets b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// F-LIP6 means something in an NS only; encoding clears it elsewhere.
std::uint8_t meant_flags(const wire::Message& message) {
  const int mask = message.type == wire::MsgType::NS ? wire::kFlagsAssigned : wire::kFlagsAssigned & ~wire::kFlagLip6;
  return static_cast<std::uint8_t>(message.flags & mask);
}

bool same_meaning(const wire::Message& a, const wire::Message& b) {
  return a.type == b.type && meant_flags(a) == meant_flags(b) && a.protocol == b.protocol && a.cookie == b.cookie &&
         a.st1 == b.st1 && a.st2 == b.st2 && a.node_local_ip == b.node_local_ip && same_octets(a.session_data, b.session_data);
}

void check_message(const wire::Decoded& decoded, Octets octets) {
  FUZZ_CHECK(decoded.size == load_u16(octets, 4));
  Buffer encoded;
  wire::encode(decoded.message, encoded);
  FUZZ_CHECK(encoded.size() == decoded.size);
  FUZZ_CHECK(wire::encoded_size(decoded.message) == decoded.size);
  const auto again = wire::decode(encoded);
  FUZZ_CHECK(again.has_value());
  FUZZ_CHECK(same_meaning(decoded.message, again->message));
  for (std::size_t n = 0; n < decoded.size; ++n) FUZZ_CHECK(!wire::decode(octets.first(n)));
}

}  // namespace

int one_input(Octets input) {
  const auto whole = wire::decode(input);
  const auto prefix = wire::decode_prefix(input);
  if (whole) {
    FUZZ_CHECK(prefix.has_value());
    FUZZ_CHECK(same_meaning(whole->message, prefix->message));
  }
  if (prefix) {
    FUZZ_CHECK(prefix->size <= input.size());
    check_message(*prefix, input);
  }
  FUZZ_CHECK(!wire::to_line(input).empty());
  return 0;
}

}  // namespace asrp::fuzz
