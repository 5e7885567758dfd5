// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: SYNs of clients, alone, and with the HS that follows them or is in them.
#include "support/act_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

Tuple flow(std::string_view client = kInside) { return tcp_tuple(client, kFar); }
Buffer syn(const Tuple& tuple = flow()) { return tcp(tuple).syn().seq(77).build(); }

void check_ns(const std::vector<Out>& outs, const TuplePair& session, std::uint32_t cookie) {
  const auto all = datagrams(outs, MsgType::NS);
  REQUIRE(all.size() == 1);
  const Datagram& ns = all[0];
  CHECK(ns.from == endpoint("192.0.2.10:51200"));
  CHECK(ns.to == Endpoint{session.client_side.src.address, 51200});
  CHECK(ns.message.cookie.value == cookie);
  CHECK(ns.message.tuples() == session);
  CHECK(ns.message.node_local_ip == address(kNodeAddress));
  CHECK_FALSE(ns.message.has(wire::kFlagNa));
}

}  // namespace

TEST_CASE("ACT: a client's SYN begins a session in this gateway's slice, and goes on itself") {
  NodeScript s(nat_options());
  CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
  REQUIRE(s.flows.installed.size() == 1);
  const engine::Flow& made = s.flows.installed[0];
  CHECK(made.tuples == act_session(flow()));
  CHECK(made.tuples.server_side.dst == endpoint(kFar));
  CHECK(made.tuples.server_side.src.address == address(kOutsideAddress));
  CHECK(made.tuples.server_side.src.port >= 2240);
  CHECK(made.tuples.server_side.src.port <= 2303);
  CHECK(made.one_way_suffices);
  CHECK_FALSE(made.proven);
  CHECK(made.mark == engine::FlowMark::none);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  CHECK(s.counter(NodeCounter::sessions_midstream) == 0);
  CHECK(s.advance(seconds(5)).empty());  // nobody is asked or told
  REQUIRE(s.events.count(engine::EventKind::session_created) == 1);
  CHECK(s.events.all.back().peer == address("10.0.0.1"));  // who has its backup, if anybody
}

TEST_CASE("ACT: the same SYN again goes on by its session") {
  NodeScript s(nat_options());
  s.packet(Tap::first, syn());
  CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
  CHECK(s.flows.entries.size() == 1);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  CHECK(s.counter(NodeCounter::sessions_again) == 1);
}

TEST_CASE("ACT: a SYN goes on by an entry of another gateway's slice: an RS had brought it (decision 25)") {
  NodeScript s(nat_options());
  s.flows.add(act_session_at(flow(), 3000));
  CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
  CHECK(s.flows.entries.size() == 1);
  CHECK(s.flows.entries[0].tuples == act_session_at(flow(), 3000));
}

TEST_CASE("ACT: a SYN replaces the entry of a closed connection, and one that the configuration does not allow") {
  NodeScript s(nat_options());
  s.flows.add(act_session(flow()), engine::FlowMark::none, true);
  CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
  CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
  NodeScript other(nat_options());
  other.flows.add(act_session_at(flow(), 9000));  // of another client's range
  CHECK(kinds(other.packet(Tap::first, syn())) == "accept");
  CHECK(other.flows.entries.size() == 1);
  CHECK(other.flows.entries[0].tuples == act_session(flow()));
}

TEST_CASE(
    "ACT: the session is made, then the HS that follows its SYN is answered, and its copy ends (decision 24) [spec 4.3.9-1]") {
  NodeScript s(nat_options());
  SUBCASE("in the same burst") {
    s.begin_burst();
    s.packet(Tap::first, syn());
    s.packet(Tap::first, with_inline(syn(), hello(Protocol::tcp, 0xabcd)));
    const auto outs = s.end_burst();
    CHECK(kinds(outs) == "drop accept send_own:NS");
    check_ns(outs, act_session(flow()), 0xabcd);
  }
  SUBCASE("a little later") {
    s.packet(Tap::first, syn());
    s.now += milliseconds(3);
    const auto outs = s.packet(Tap::first, with_inline(syn(), hello(Protocol::tcp, 0xabcd)));
    CHECK(kinds(outs) == "drop send_own:NS");
    check_ns(outs, act_session(flow()), 0xabcd);
  }
  CHECK(s.flows.installed.size() == 1);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  CHECK(s.counter(NodeCounter::hellos_answered) == 1);
  CHECK(s.counter(NodeCounter::sent_ns_standalone) == 1);
}

TEST_CASE("ACT: an HS in the SYN itself is taken out and answered, and the SYN is not lost (decision 24)") {
  NodeScript s(nat_options());
  const Buffer carrying = with_inline(syn(), hello(Protocol::tcp, 5));
  auto outs = s.packet(Tap::first, carrying);
  CHECK(kinds(outs) == "replace send_own:NS");
  CHECK(outs[0].octets == syn());
  check_ns(outs, act_session(flow()), 5);
  // Sent again, because the SYN was lost behind us.
  s.now += seconds(1);
  outs = s.packet(Tap::first, carrying);
  CHECK(kinds(outs) == "replace send_own:NS");
  CHECK(outs[0].octets == syn());
  check_ns(outs, act_session(flow()), 5);
}

TEST_CASE("ACT: a copy whose SYN had no port does not begin its session instead") {
  auto options = nat_options();
  NodeScript s(options);
  s.engine.set_table_pressure(true);
  CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
  CHECK(kinds(s.packet(Tap::first, with_inline(syn(), hello(Protocol::tcp, 5)))) == "drop");
  CHECK(s.counter(NodeCounter::drops_refused) == 2);
  CHECK(s.flows.entries.empty());
}

TEST_CASE("ACT: any other message in a SYN is taken out and not acted upon") {
  NodeScript s(nat_options());
  const auto outs = s.packet(Tap::first, with_inline(syn(), ns(act_session(flow())).build()));
  CHECK(kinds(outs) == "replace");
  CHECK(outs[0].octets == syn());
  CHECK(s.counter(NodeCounter::discarded_unexpected) == 1);
  CHECK(s.counter(NodeCounter::hellos_answered) == 0);
}

TEST_CASE("ACT: a client beyond the configured networks gets nothing") {
  NodeScript s(nat_options());
  CHECK(kinds(s.packet(Tap::first, syn(tcp_tuple("10.0.9.1:5000", kFar)))) == "drop");
  CHECK(kinds(s.packet(Tap::stray, udp("10.0.9.1:5000", "198.51.100.1:53").payload("x").build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 2);
  CHECK(s.flows.entries.empty());
}

TEST_CASE("ACT: what goes to an untranslated destination is none of ours") {
  auto options = nat_options();
  options.nat->untranslated = {*Prefix::parse("198.51.100.0/24")};
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_range) == 1);
}
