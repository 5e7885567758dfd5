// SPDX-License-Identifier: BSD-3-Clause
// HS on packets of known sessions, and what may be said about the NS that answer them.
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

const Tuple kFlow = tcp_tuple(kInside, kFar);
const TuplePair kSession = act_session_at(kFlow, 3000);

Buffer segment() { return tcp(kFlow).push().payload("data").build(); }

}  // namespace

TEST_CASE(
    "HS of a known session: NS with its cookie to the source of the packet, which goes on without it [spec 4.3.9-1, 4.3.2-2]") {
  NodeScript s(nat_options());
  s.flows.add(kSession);
  auto outs = s.packet(Tap::known, with_inline(segment(), hello(Protocol::tcp, 0x1234)));
  REQUIRE(kinds(outs) == "send_own:NS replace");
  CHECK(outs[1].octets == segment());
  const Datagram ns = datagrams(outs, MsgType::NS).at(0);
  CHECK(ns.from == endpoint("192.0.2.10:51200"));
  CHECK(ns.to == endpoint("10.0.0.1:51200"));
  CHECK(ns.message.cookie.value == 0x1234);
  CHECK(ns.message.tuples() == kSession);
  CHECK_FALSE(ns.message.has(wire::kFlagNa));
  CHECK(s.counter(NodeCounter::received_hs) == 1);
  // Alone in a packet that follows another.
  outs = s.packet(Tap::known, separate(tcp(kFlow).flags(0x10).build(), hello(Protocol::tcp, 0x1235)));
  CHECK(kinds(outs) == "send_own:NS drop");
  CHECK(datagrams(outs, MsgType::NS).at(0).message.cookie.value == 0x1235);
  CHECK(s.counter(NodeCounter::packets_consumed) == 1);
}

TEST_CASE("HS over UDP and IPv6") {
  NodeScript s(nat_options());
  const Tuple flow = udp_tuple("[fd00:1::5]:5000", "[2001:db8::1]:9000");
  const TuplePair session{flow, {outside_of(nat_options(), flow), flow.dst, Protocol::udp}};
  s.flows.add(session);
  const Buffer data = udp(flow).payload("data").build();
  const auto outs = s.packet(Tap::known, with_inline(data, hello(Protocol::udp, 7)));
  REQUIRE(kinds(outs) == "send_own:NS replace");
  CHECK(outs[1].octets == data);
  const Datagram ns = datagrams(outs, MsgType::NS).at(0);
  CHECK(ns.from == endpoint("[2001:db8:10::10]:51200"));
  CHECK(ns.to == endpoint("[fd00:1::5]:51200"));
  CHECK(ns.message.tuples() == session);
}

TEST_CASE("HS without a session: nothing is answered, and it is taken out all the same [spec 4.3.9-1]") {
  NodeScript s(nat_options());
  auto outs = s.packet(Tap::known, with_inline(segment(), hello(Protocol::tcp, 1)));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == segment());
  CHECK(s.counter(NodeCounter::hellos_no_session) == 1);
  // Nor for a session that the rules don't allow.
  s.flows.add(act_session_at(kFlow, 9000));
  outs = s.packet(Tap::known, with_inline(segment(), hello(Protocol::tcp, 1)));
  CHECK(kinds(outs) == "replace");
  CHECK(s.counter(NodeCounter::hellos_no_session) == 2);
  CHECK(s.counter(NodeCounter::hellos_answered) == 0);
}

TEST_CASE("an HS of another protocol than its packet, and any other message, is taken out and not answered") {
  NodeScript s(nat_options());
  s.flows.add(kSession);
  CHECK(kinds(s.packet(Tap::known, with_inline(segment(), hello(Protocol::udp, 1)))) == "replace");
  CHECK(s.counter(NodeCounter::discarded_protocol) == 1);
  CHECK(kinds(s.packet(Tap::known, with_inline(segment(), ps_of(kSession, key_of(0x22))))) == "replace");
  CHECK(s.counter(NodeCounter::discarded_unexpected) == 1);
}

TEST_CASE("a message from outside is taken out of a known session's packet and not processed") {
  NodeScript s(nat_options());
  s.flows.add(kSession);
  const Buffer data = tcp(kSession.server_side.reversed()).push().payload("data").build();
  const auto outs = s.packet(Tap::known, with_inline(data, hello(Protocol::tcp, 1)));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == data);
  CHECK(s.counter(NodeCounter::discarded_outside) == 1);
  CHECK(kinds(s.packet(Tap::known, separate(data, hello(Protocol::tcp, 1)))) == "drop");
  CHECK(kinds(s.packet(Tap::known, data)) == "accept");
  CHECK(s.counter(NodeCounter::hellos_answered) == 0);
}

TEST_CASE("HS are answered within a rate for each client, and one for all") {
  auto options = nat_options();
  options.nat->hellos_per_client = 3;
  options.nat->hellos = 5;
  NodeScript s(options);
  const Tuple others = tcp_tuple("10.0.0.2:5000", kFar);
  s.flows.add(kSession);
  s.flows.add(act_session(others));
  const auto say = [&](const Tuple& flow) {
    return kinds(s.packet(Tap::known, with_inline(tcp(flow).push().payload("x").build(), hello(Protocol::tcp, 1))));
  };
  for (int i = 0; i < 3; ++i) CHECK(say(kFlow) == "send_own:NS replace");
  CHECK(say(kFlow) == "replace");
  CHECK(s.counter(NodeCounter::hellos_limited) == 1);
  for (int i = 0; i < 2; ++i) CHECK(say(others) == "send_own:NS replace");
  CHECK(say(others) == "replace");  // over the rate of all
  s.now += seconds(1);
  CHECK(say(others) == "send_own:NS replace");
}

TEST_CASE("an NC changes no session whose packets have left (decision 25)") {
  NodeScript s(nat_options());
  s.packet(Tap::first, tcp(kFlow).syn().build());
  const TuplePair session = act_session(kFlow);
  const auto outs = s.packet(Tap::first, with_inline(tcp(kFlow).syn().build(), hello(Protocol::tcp, 0x99)));
  REQUIRE(datagrams(outs, MsgType::NS).size() == 1);
  const auto refuse = [&](const TuplePair& pair, std::uint32_t cookie, bool client_side, std::string_view from) {
    auto message = nc(pair).cookie(cookie);
    if (client_side) message.client_side_conflict();
    CHECK(s.message({address(from), 51200}, kNodeAddress, message.build()).empty());
  };
  CHECK(s.engine.expects(nc(session).build()));
  refuse(session, 0x98, false, "10.0.0.1");
  CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
  refuse(session, 0x99, false, "10.0.0.2");
  CHECK(s.counter(NodeCounter::discarded_address) == 1);
  refuse(act_session(kFlow, 1), 0x99, false, "10.0.0.1");
  CHECK(s.counter(NodeCounter::discarded_tuple) == 1);
  CHECK(s.counter(NodeCounter::conflicts_kept) == 0);
  refuse(session, 0x99, false, "10.0.0.1");
  refuse(act_session(kFlow, 1), 0x99, true, "10.0.0.1");
  CHECK(s.counter(NodeCounter::conflicts_kept) == 2);
  CHECK(s.flows.entries.at(0).tuples == session);
  s.now += milliseconds(300);
  refuse(session, 0x99, false, "10.0.0.1");
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  // An NA was not asked for.
  CHECK(s.message(endpoint("10.0.0.1:51200"), kNodeAddress, na(session).cookie(0x99).build()).empty());
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 2);
}
