// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/decode.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

TEST_CASE("an NS of the fact sheet, field by field") {
  const Buffer octets = hex("000001040028000600c0ffeecb007107c6336401c35001bbc000020ac63364059c4001bbc000020a");
  const auto decoded = wire::decode(octets);
  REQUIRE(decoded);
  CHECK(decoded->size == 40);
  const wire::Message& message = decoded->message;
  CHECK(message.type == wire::MsgType::NS);
  CHECK(message.flags == wire::kFlagNa);
  CHECK(message.cookie.value == 0x00c0ffee);
  CHECK(message.st1 == tcp_tuple("203.0.113.7:50000", "198.51.100.1:443"));
  CHECK(message.st2 == tcp_tuple("192.0.2.10:40000", "198.51.100.5:443"));
  CHECK(message.node_local_ip == address("192.0.2.10"));
  CHECK(message.session_data.empty());
}
