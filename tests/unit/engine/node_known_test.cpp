// SPDX-License-Identifier: BSD-3-Clause
// Packets of known sessions on the slow path: the kernel translates, the engine takes messages out.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kServer = "10.0.0.2:8080";

TuplePair session() { return {tcp_tuple(kClient, kVip), tcp_tuple(kClient, kServer)}; }
Buffer request() { return tcp(kClient, kVip).push().payload("request").build(); }
Buffer reply() { return tcp(kServer, kClient).push().payload("reply").build(); }
Buffer good_ps(const TuplePair& pair) { return ps_of(pair, key_of(0x22)); }

}  // namespace

TEST_CASE("a PS on a known session's packet is verified and taken out [spec 4.3.10-2, 4.2.1-1]") {
  NodeScript s(basic_options());
  s.flows.add(session());
  const auto outs = s.packet(Tap::known, with_inline(reply(), good_ps(session())));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == reply());
  CHECK(s.flows.installed.empty());
  CHECK(s.counter(NodeCounter::received_ps) == 1);
}

TEST_CASE("a separate PS on a known session is consumed") {
  NodeScript s(basic_options());
  s.flows.add(session());
  CHECK(kinds(s.packet(Tap::known, separate(reply(), good_ps(session())))) == "drop");
  CHECK(s.counter(NodeCounter::packets_consumed) == 1);
}

TEST_CASE("a PS that does not verify is taken out all the same, and does nothing [spec 4.3.2-6]") {
  NodeScript s(basic_options());
  s.flows.add(session());
  const auto outs = s.packet(Tap::known, with_inline(reply(), ps_of(session(), key_of(0x44))));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == reply());
  CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
}

TEST_CASE(
    "a PS that names another mapping than an entry made just now: the packet would reach the wrong client, so it ends here") {
  NodeScript s(full_nat_options());
  s.packet(Tap::first, tcp("203.0.113.8:1", kVip).syn().build());
  const TuplePair mine = s.flows.installed.at(0).tuples;
  const TuplePair other{tcp_tuple(kClient, kVip), mine.server_side};
  const Buffer packet = tcp(mine.server_side.reversed()).push().payload("x").build();
  CHECK(kinds(s.packet(Tap::known, with_inline(packet, good_ps(other)))) == "drop");
  CHECK(s.counter(NodeCounter::discarded_entry) == 1);
  CHECK(s.flows.entries.at(0).tuples == mine);
}

TEST_CASE("the entry of a session of a moment ago is not read back") {
  NodeScript s(full_nat_options());
  s.packet(Tap::first, tcp(kClient, kVip).syn().build());
  const TuplePair pair = s.flows.installed.at(0).tuples;
  const Buffer syn_ack = tcp(pair.server_side.reversed()).syn_ack().build();
  CHECK(kinds(s.packet(Tap::known, with_inline(syn_ack, good_ps(pair)))) == "replace");
  CHECK(s.flows.finds == 0);
}

TEST_CASE("from the client's side everything is taken out, nothing processed (decision 9)") {
  NodeScript s(basic_options());
  s.flows.add(session());
  const auto outs = s.packet(Tap::known, with_inline(request(), good_ps(session())));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == request());
  CHECK(s.counter(NodeCounter::discarded_client) == 1);
  CHECK(kinds(s.packet(Tap::known, separate(request(), hs(Protocol::tcp).build()))) == "drop");
}

TEST_CASE("octets that are no message: the option goes, the data stay [spec 4.3.1-1]") {
  NodeScript s(basic_options());
  s.flows.add(session());
  for (const bool from_server : {true, false}) {
    Buffer message = good_ps(session());
    message[0] = 9;  // version
    const Buffer packet = with_inline(from_server ? reply() : request(), message);
    const auto outs = s.packet(Tap::known, packet);
    REQUIRE(kinds(outs) == "replace");
    CHECK_FALSE(carried_by(outs[0].octets));
    const auto view = packet::PacketView::parse(outs[0].octets);
    CHECK(view->payload_size() == packet::PacketView::parse(packet)->payload_size());
  }
  CHECK(s.counter(NodeCounter::discarded_version) == 2);
}

TEST_CASE("packets without a message pass as they are") {
  NodeScript s(basic_options());
  s.flows.add(session());
  CHECK(kinds(s.packet(Tap::known, request())) == "accept");
  CHECK(kinds(s.packet(Tap::known, reply())) == "accept");
  CHECK(kinds(s.packet(Tap::known, udp("192.0.2.1:1", "192.0.2.2:2").payload("x").build())) == "accept");
  CHECK(kinds(s.packet(Tap::known, Buffer{0x45})) == "accept");
}

TEST_CASE("a PS acknowledges a session that waits for its NA: the holder has it") {
  NodeScript s(basic_options());
  s.flows.add(session(), FlowMark::waiting);
  s.marked_flow({session(), FlowMark::waiting, false});
  CHECK(s.engine.gauges().waiting == 1);
  s.packet(Tap::known, with_inline(reply(), good_ps(session())));
  CHECK(s.engine.gauges().waiting == 0);
  CHECK(s.flows.entry(session().client_side)->mark == FlowMark::none);
  CHECK(s.advance(seconds(1)).empty());
}
