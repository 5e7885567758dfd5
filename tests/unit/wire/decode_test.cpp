// SPDX-License-Identifier: BSD-3-Clause
// The reasons to reject, octet for octet, are in tests/vectors/messages.toml; here is what holds for all messages.
#include "asrp/wire/decode.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "asrp/base/limits.hpp"
#include "asrp/wire/layout.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::DecodeError;
using wire::MsgType;

namespace {

const TuplePair kPair44{tcp_tuple("203.0.113.7:50000", "198.51.100.1:443"), tcp_tuple("192.0.2.10:40000", "198.51.100.5:443")};
const TuplePair kPair66{tcp_tuple("[2001:db8::7]:50000", "[2001:db8:1::1]:443"),
                        tcp_tuple("[2001:db8:2::a]:40000", "[2001:db8:3::5]:443")};
const TuplePair kPair46{kPair44.client_side, kPair66.server_side};

std::vector<Buffer> all_kinds() {
  std::vector<Buffer> messages;
  for (const TuplePair& pair : {kPair44, kPair66, kPair46}) {
    for (const MsgType type : {MsgType::NA, MsgType::RS, MsgType::PS, MsgType::NC}) {
      messages.push_back(with_tuples(type, pair).cookie(0x01020304).build());
      messages.push_back(with_tuples(type, pair).session_data("0badc0de55").build());
    }
    for (const char* node : {"192.0.2.10", "2001:db8::a"}) {
      messages.push_back(ns(pair).node(node).wants_ack().build());
      messages.push_back(ns(pair).node(node).session_data("0badc0de55").build());
    }
    messages.push_back(qs(pair.client_side).build());
    messages.push_back(rx(pair.server_side).session_data("00").build());
  }
  messages.push_back(hs(Protocol::udp).cookie(0xa1b2c3d4).build());
  return messages;
}

}  // namespace

TEST_CASE("[spec 4.3.1-1] no proper prefix of a message is one") {
  for (const Buffer& message : all_kinds()) {
    CAPTURE(to_hex(message));
    REQUIRE(wire::decode(message));
    for (std::size_t n = 0; n < message.size(); ++n) {
      const Buffer cut(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(n));
      const DecodeError expected = n < kHeaderSize ? DecodeError::truncated : DecodeError::length;
      REQUIRE_FALSE(wire::decode(cut));
      CHECK(wire::decode(cut).error() == expected);
      REQUIRE_FALSE(wire::decode_prefix(cut));
      CHECK(wire::decode_prefix(cut).error() == DecodeError::truncated);
    }
  }
}

TEST_CASE("the octets around a message have no say in what it means") {
  for (const Buffer& message : all_kinds()) {
    CAPTURE(to_hex(message));
    for (const int poison : {0x00, 0x55, 0xaa, 0xff}) {
      Buffer buffer(message.size() + 64, static_cast<std::uint8_t>(poison));
      std::copy(message.begin(), message.end(), buffer.begin() + 32);
      const Octets behind = Octets(buffer).subspan(32);
      REQUIRE_FALSE(wire::decode(behind));
      CHECK(wire::decode(behind).error() == DecodeError::length);
      const auto decoded = wire::decode_prefix(behind);
      REQUIRE(decoded);
      CHECK(decoded->size == message.size());
      Buffer again;
      wire::encode(decoded->message, again);
      CHECK(to_hex(again) == to_hex(message));
    }
  }
}

TEST_CASE("[spec 4.1-1] [spec 4.1-2] unassigned flags and Reserved are ignored") {
  for (Buffer message : all_kinds()) {
    const std::uint8_t assigned = message[3];
    for (int bits = 0; bits < 256; ++bits) {
      message[3] = static_cast<std::uint8_t>(assigned | (bits & ~wire::kFlagsAssigned));
      message[6] = static_cast<std::uint8_t>(bits);
      const auto decoded = wire::decode(message);
      REQUIRE(decoded);
      CHECK(decoded->message.flags == assigned);
    }
  }
}

TEST_CASE("[spec 4.3.1-1] only version 0, known types, and layouts that a type allows") {
  Buffer octets(100, 0);
  octets[5] = 100;
  for (int version = 1; version < 256; ++version) {
    octets[0] = static_cast<std::uint8_t>(version);
    CHECK(wire::decode(octets).error() == DecodeError::version);
  }
  octets[0] = 0;
  for (std::size_t type = 0; type < 256; ++type) {
    for (std::size_t st = 0; st < 256; ++st) {
      octets[1] = static_cast<std::uint8_t>(type);
      octets[2] = static_cast<std::uint8_t>(st);
      const auto decoded = wire::decode(octets);
      if (type >= wire::kMsgTypeCount) {
        CHECK(decoded.error() == DecodeError::type);
      } else if (st >= wire::kStTypeCount || wire::kStLayouts[st].tuples != wire::kTypeLayouts[type].tuples) {
        CHECK(decoded.error() == DecodeError::sttype);
      } else if (octets[1] == 5) {
        CHECK(decoded.error() == DecodeError::length);  // HS is 16 octets long
      } else {
        CHECK(decoded);
      }
    }
  }
}

TEST_CASE("[spec 4.3.1-1] of all 65 536 Length fields one is right") {
  for (const Buffer& message : all_kinds()) {
    Buffer octets = message;
    std::size_t accepted = 0;
    for (std::size_t length = 0; length <= 0xffff; ++length) {
      store_u16(octets, 4, static_cast<std::uint16_t>(length));
      const auto decoded = wire::decode(octets);
      if (decoded) {
        ++accepted;
        CHECK(length == message.size());
      } else {
        CHECK(decoded.error() == DecodeError::length);
      }
    }
    CHECK(accepted == 1);
  }
}

TEST_CASE("Session-Data is a view into the input, between the tuples and Node-Local-IP") {
  const Buffer octets = ns(kPair44).node("192.0.2.10").session_data("0badc0de").build();
  const auto decoded = wire::decode(octets);
  REQUIRE(decoded);
  CHECK(decoded->message.session_data.data() == octets.data() + 36);
  CHECK(to_hex(decoded->message.session_data) == "0badc0de");
}
