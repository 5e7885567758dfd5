// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/encode.hpp"

#include <doctest/doctest.h>

#include "asrp/base/limits.hpp"
#include "asrp/wire/decode.hpp"
#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

const Tuple kClient4 = tcp_tuple("203.0.113.7:50000", "198.51.100.1:443");
const Tuple kServer4 = tcp_tuple("192.0.2.10:40000", "198.51.100.5:443");
const Tuple kClient6 = tcp_tuple("[2001:db8::7]:50000", "[2001:db8:1::1]:443");
const Tuple kServer6 = tcp_tuple("[2001:db8:2::a]:40000", "[2001:db8:3::5]:443");

struct Layout {
  TuplePair pair;
  wire::StType sttype;
  std::size_t size;  // of both tuples
};
const Layout kLayouts[] = {
    {{kClient4, kServer4}, wire::StType::ST44, 24},
    {{kClient6, kServer6}, wire::StType::ST66, 72},
    {{kClient4, kServer6}, wire::StType::ST46, 48},
    {{kClient6, kServer4}, wire::StType::ST64, 48},
};

void check_round_trip(const MessageBuilder& builder, wire::StType sttype, std::size_t size) {
  const wire::Message message = builder.message();
  CAPTURE(wire::to_string(message.type));
  const Buffer octets = builder.build();
  CHECK(octets.size() == size);
  CHECK(wire::encoded_size(message) == size);
  CHECK(octets[0] == kVersion);
  CHECK(octets[2] == static_cast<std::uint8_t>(sttype));
  CHECK(load_u16(octets, 4) == size);
  const auto decoded = wire::decode(octets);
  REQUIRE(decoded);
  CHECK(decoded->message.type == message.type);
  CHECK(decoded->message.cookie == message.cookie);
  CHECK(decoded->message.protocol == message.protocol);
  CHECK(decoded->message.st1 == message.st1);
  CHECK(decoded->message.st2 == message.st2);
  CHECK(decoded->message.node_local_ip == message.node_local_ip);
  CHECK(to_hex(decoded->message.session_data) == to_hex(message.session_data));
  Buffer again;
  wire::encode(decoded->message, again);
  CHECK(to_hex(again) == to_hex(octets));
}

}  // namespace

TEST_CASE("every type in every layout survives a round trip, with every size of Session-Data") {
  for (const std::size_t data : {0U, 1U, 2U, 3U, 4U, 63U, 64U, 1000U}) {
    CAPTURE(data);
    for (const Layout& layout : kLayouts) {
      for (const MsgType type : {MsgType::NA, MsgType::RS, MsgType::PS, MsgType::NC}) {
        check_round_trip(with_tuples(type, layout.pair).cookie(0x01020304).session_data(pattern(data)), layout.sttype,
                         12 + layout.size + data);
      }
      check_round_trip(ns(layout.pair).node("192.0.2.10").wants_ack().session_data(pattern(data)), layout.sttype,
                       12 + layout.size + data + 4);
      check_round_trip(ns(layout.pair).node("2001:db8::a").session_data(pattern(data)), layout.sttype,
                       12 + layout.size + data + 16);
    }
    for (const Tuple& tuple : {kClient4, kClient6}) {
      const bool is_v4 = tuple.family() == Family::v4;
      const auto sttype = is_v4 ? wire::StType::ST4 : wire::StType::ST6;
      check_round_trip(qs(tuple).cookie(5).session_data(pattern(data)), sttype, (is_v4 ? 24U : 48U) + data);
      check_round_trip(rx(tuple).cookie(5).session_data(pattern(data)), sttype, (is_v4 ? 24U : 48U) + data);
    }
  }
  check_round_trip(hs(Protocol::udp).cookie(0xffffffff), wire::StType::null, 16);
}

TEST_CASE("[spec 4.1-1] [spec 4.1-2] unassigned flags and Reserved are sent as zero") {
  wire::Message message = ns({kClient4, kServer4}).node("192.0.2.10").message();
  message.flags = 0xff;
  Buffer octets;
  wire::encode(message, octets);
  CHECK(octets[3] == (wire::kFlagCc | wire::kFlagNa));  // the address is IPv4
  CHECK(octets[6] == 0);
}

TEST_CASE("F-LIP6 follows from Node-Local-IP, and is set in no other message than NS") {
  CHECK(ns({kClient4, kServer4}).node("2001:db8::a").build()[3] == wire::kFlagLip6);
  CHECK(ns({kClient6, kServer6}).node("192.0.2.10").build()[3] == 0);
  wire::Message message = ps({kClient4, kServer4}).node("2001:db8::a").message();
  message.flags = wire::kFlagLip6;
  Buffer octets;
  wire::encode(message, octets);
  CHECK(octets[3] == 0);
  CHECK(octets.size() == 36);
}

TEST_CASE("encoding appends, and does not touch what is there") {
  Buffer out = hex("aabb");
  wire::encode(hs(Protocol::tcp).cookie(1).message(), out);
  CHECK(to_hex(out) ==
        "aabb"
        "00050000001000060000000100000000");
}

TEST_CASE("HS has a fixed size, whatever its Session-Data says") {
  CHECK(hs(Protocol::tcp).session_data("0badc0de").build().size() == 16);
}

TEST_CASE("the largest message fills the Length field") {
  const Buffer octets = qs(kClient4).session_data(pattern(0xffff - 24)).build();
  CHECK(octets.size() == 0xffff);
  CHECK(wire::decode(octets));
}
