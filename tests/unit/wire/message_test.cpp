// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/message.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

const TuplePair kPair{udp_tuple("203.0.113.7:5000", "198.51.100.1:53"), udp_tuple("192.0.2.10:4000", "198.51.100.5:53")};

}  // namespace

TEST_CASE("[spec 4.1.2-1] [spec 4.1.2-2] a pair puts the client-side tuple first, the server-side one second") {
  for (const MsgType type : {MsgType::NS, MsgType::NA, MsgType::NC, MsgType::RS, MsgType::PS}) {
    const wire::Message message = wire::with_tuples(type, kPair, Cookie{7}, {});
    CHECK(message.type == type);
    CHECK(message.st1 == kPair.client_side);
    CHECK(message.st2 == kPair.server_side);
    CHECK(message.tuples() == kPair);
    CHECK(message.protocol == Protocol::udp);
    CHECK(message.cookie == Cookie{7});
  }
}

TEST_CASE("NS carries the node's address, and F-NA only if asked for") {
  const wire::Message quiet = wire::new_session(kPair, Cookie{1}, address("192.0.2.10"), false);
  CHECK(quiet.type == MsgType::NS);
  CHECK(quiet.flags == 0);
  CHECK(quiet.node_local_ip == address("192.0.2.10"));
  CHECK(wire::new_session(kPair, Cookie{1}, address("192.0.2.10"), true).has(wire::kFlagNa));
}

TEST_CASE("[spec 4.1.2-3] QS carries the tuple of the packet that triggered it, as it was") {
  const Tuple from_server = kPair.server_side.reversed();
  const wire::Message query = wire::query_session(from_server, Cookie{9});
  CHECK(query.type == MsgType::QS);
  CHECK(query.st1 == from_server);
  CHECK(query.protocol == Protocol::udp);
}

TEST_CASE("[spec 4.1-4] RX repeats the query's tuple, cookie and Session-Data") {
  const Buffer data = hex("0badc0de");
  wire::Message query = wire::query_session(kPair.client_side, Cookie{0xdeadbeef});
  query.session_data = data;
  query.protocol = static_cast<Protocol>(132);
  const wire::Message answer = wire::recovery_no_session(query);
  CHECK(answer.type == MsgType::RX);
  CHECK(answer.st1 == query.st1);
  CHECK(answer.cookie == query.cookie);
  CHECK(answer.protocol == query.protocol);
  CHECK(to_hex(answer.session_data) == "0badc0de");
}

TEST_CASE("HS has a protocol and a cookie, and nothing else") {
  const wire::Message message = wire::hello_session(Protocol::udp, Cookie{3});
  CHECK(message.type == MsgType::HS);
  CHECK(message.protocol == Protocol::udp);
  CHECK(message.cookie == Cookie{3});
  CHECK(message.session_data.empty());
}
