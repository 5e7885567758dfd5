// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/print.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

const TuplePair kPair{tcp_tuple("203.0.113.7:50000", "198.51.100.1:80"), tcp_tuple("[2001:db8::a]:40000", "[2001:db8::5]:80")};

}  // namespace

TEST_CASE("a message in one line") {
  CHECK(wire::to_line(ns(kPair).cookie(0xc0ffee).node("192.0.2.10").wants_ack().build()) ==
        "NS F-NA tcp cookie 00c0ffee st1 203.0.113.7:50000>198.51.100.1:80 st2 [2001:db8::a]:40000>[2001:db8::5]:80 "
        "node 192.0.2.10");
  CHECK(wire::to_line(nc(kPair).client_side_conflict().session_data("0bad").message()) ==
        "NC F-CC tcp cookie 00000000 st1 203.0.113.7:50000>198.51.100.1:80 st2 [2001:db8::a]:40000>[2001:db8::5]:80 "
        "data 0bad");
  CHECK(wire::to_line(qs(udp_tuple("192.0.2.1:1", "192.0.2.2:2")).cookie(0xffffffff).build()) ==
        "QS udp cookie ffffffff st1 192.0.2.1:1>192.0.2.2:2");
  CHECK(wire::to_line(hs(static_cast<Protocol>(132)).build()) == "HS 132 cookie 00000000");
  CHECK(wire::to_line(ns(kPair).node("2001:db8::9").build()).find("NS F-LIP6 ") == 0);
}

TEST_CASE("octets that are no message, in one line") {
  CHECK(wire::to_line(Octets{}) == "invalid (truncated): ");
  CHECK(wire::to_line(hex("0005000000110011a1b2c3d400000000")) == "invalid (length): 0005000000110011a1b2c3d400000000");
  CHECK(wire::to_line(Buffer(33, 0x0a)) == "invalid (version): " + to_hex(Buffer(32, 0x0a)) + "...");
}

TEST_CASE("a message of an unknown type prints what all messages have") {
  wire::Message message;
  message.type = static_cast<wire::MsgType>(200);
  CHECK(wire::to_line(message) == "? tcp cookie 00000000");
}
