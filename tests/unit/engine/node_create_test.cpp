// SPDX-License-Identifier: BSD-3-Clause
// New sessions by explicit first packets: TCP SYN at the raw tap, DNS and others at the mangle tap.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kLinuxOptions = "020405b40402080a000000010000000001030307";

Buffer syn(std::uint32_t seq = 1000, std::string_view options = kLinuxOptions) {
  return tcp(kClient, kVip).syn().seq(seq).options(options).build();
}

Buffer dns_query(std::string_view client = "203.0.113.7:5000", std::string_view server = "198.51.100.1:53") {
  return udp(client, server).payload(hex("123401000001000000000000 0377777704746573740000010001")).build();
}

/// The server that a flow's session went to.
Endpoint server_of(const NodeScript& s, std::size_t n = 0) { return s.flows.installed.at(n).tuples.server_side.dst; }

}  // namespace

TEST_CASE("a SYN makes a session, and its packet goes on with the NS inside [spec 3.4.1-1] [spec 4.1.2-1]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::first, syn());
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].mark == 0);
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->stripped == syn());
  CHECK(c->message.type == MsgType::NS);
  CHECK(c->message.flags == 0);
  CHECK(c->message.node_local_ip == address("192.0.2.10"));
  CHECK(c->message.st1 == tcp_tuple(kClient, kVip));
  CHECK(c->message.st2.src == endpoint(kClient));
  CHECK(c->message.cookie == policy::keyed_cookie(key_of(0x22), c->message.tuples()));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed.at(0).tuples == c->message.tuples());
  CHECK(s.flows.installed.at(0).mark == FlowMark::none);
  CHECK(s.flows.installed.at(0).one_way_suffices);
  CHECK_FALSE(s.flows.installed.at(0).proven);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  CHECK(s.counter(NodeCounter::sent_ns_inline_tcp) == 1);
  CHECK(s.events.count(EventKind::session_created) == 1);
  CHECK(s.advance(seconds(10)).empty());
}

TEST_CASE("the same for IPv6, with ST66 and an IPv6 Node-Local-IP [spec 4.1.2-2]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::first, tcp("[2001:db8::7]:5000", "[2001:db8:1::1]:80").syn().build());
  REQUIRE(kinds(outs) == "replace");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->message.node_local_ip == address("2001:db8:10::10"));
  CHECK(c->message.st2.dst.address.family() == Family::v6);
  CHECK(s.flows.installed.size() == 1);
}

TEST_CASE("two nodes with their servers listed in another order decide alike [spec 3.5.3-1]") {
  auto other = full_nat_options();
  std::reverse(other.services[0].backends.begin(), other.services[0].backends.end());
  NodeScript a(full_nat_options());
  NodeScript b(other);
  for (std::uint16_t port = 1000; port < 1100; ++port) {
    const Buffer packet = tcp({address("203.0.113.9"), port}, endpoint(kVip)).syn().build();
    a.packet(Tap::first, packet);
    b.packet(Tap::first, packet);
    CHECK(a.flows.installed.back().tuples == b.flows.installed.back().tuples);
  }
}

TEST_CASE("full NAT takes address and port from the range") {
  NodeScript s(full_nat_options());
  const auto outs = s.packet(Tap::first, syn());
  REQUIRE(kinds(outs) == "replace");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->message.st2.src.address == address("10.1.0.1"));
  CHECK(c->message.st2.src.port >= 1024);
  CHECK(s.engine.gauges().attempts == 1);
  CHECK(s.advance(milliseconds(201)).empty());
  CHECK(s.engine.gauges().attempts == 0);
  CHECK(s.engine.gauges().held_octets == 0);
}

TEST_CASE("symmetric routing leaves the entry unproven, and marks the packet as admitted") {
  auto options = basic_options();
  options.services[0].routing = engine::Routing::symmetric;
  NodeScript s(options);
  const auto outs = s.packet(Tap::first, syn());
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].mark == 0x08000000);
  CHECK_FALSE(s.flows.installed.at(0).one_way_suffices);
}

TEST_CASE("a SYN that can't carry the NS has it sent apart, with F-NA, and the session waits") {
  auto check = [](NodeScript& s, const Buffer& packet, NodeCounter why) {
    const auto outs = s.packet(Tap::first, packet);
    REQUIRE(kinds(outs) == "send_own:NS accept");
    const auto d = datagram(outs[0]);
    CHECK(d->from == endpoint("192.0.2.10:51200"));
    CHECK(d->to == Endpoint{server_of(s).address, 51200});
    CHECK(d->message.has(wire::kFlagNa));
    CHECK(s.flows.installed.at(0).mark == FlowMark::waiting);
    CHECK(s.counter(why) == 1);
    CHECK(s.engine.gauges().waiting == 1);
  };
  SUBCASE("no room in the options") {
    NodeScript s(basic_options());
    check(s, syn(1, "020405b40402080a0000000100000000010303072212000000000000000000000000000000000101"),
          NodeCounter::inline_option_room);
  }
  SUBCASE("TCP MD5") {
    NodeScript s(basic_options());
    check(s, syn(1, "0101131200000000000000000000000000000000"), NodeCounter::inline_protected);
  }
  SUBCASE("one octet more than the MTU of the route") {
    NodeScript s(basic_options());
    for (int i = 1; i <= 4; ++i) s.paths.mtus[address("10.0.0." + std::to_string(i))] = syn().size() + 43;
    check(s, syn(), NodeCounter::inline_mtu);
  }
}

TEST_CASE("a SYN that fits the MTU to the octet carries its NS [spec 3.4.1-1]") {
  NodeScript s(basic_options());
  for (int i = 1; i <= 4; ++i) s.paths.mtus[address("10.0.0." + std::to_string(i))] = syn().size() + 44;
  CHECK(kinds(s.packet(Tap::first, syn())) == "replace");
}

TEST_CASE("no NS towards a server without a holder") {
  auto options = basic_options();
  SUBCASE("holder = no: nothing is missing") {
    for (auto& b : options.services[0].backends) b.holder = engine::HolderPresence::no;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
    CHECK(s.flows.installed.at(0).mark == FlowMark::none);
    CHECK(s.counter(NodeCounter::sessions_unprotected) == 0);
  }
  SUBCASE("holder = probe that has never answered: unprotected") {
    for (auto& b : options.services[0].backends) b.holder = engine::HolderPresence::probe;
    NodeScript s(options);
    s.answer_probes = false;  // too late for the first one, hence other servers
    auto fresh = options;
    for (auto& b : fresh.services[0].backends) b.address.address = address("10.9.0." + b.id.substr(1));
    s.reconfigure(fresh);
    CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
    CHECK(s.flows.installed.at(0).mark == FlowMark::unprotected);
    CHECK(s.counter(NodeCounter::sessions_unprotected) == 1);
    CHECK(s.events.count(EventKind::session_unprotected) == 1);
  }
  SUBCASE("holder = probe that has answered: inline") {
    for (auto& b : options.services[0].backends) b.holder = engine::HolderPresence::probe;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::first, syn())) == "replace");
  }
  SUBCASE("holder = yes, but gone: unprotected") {
    NodeScript s(options);
    for (int i = 1; i <= 4; ++i) s.port_unreachable("10.0.0." + std::to_string(i));
    CHECK(kinds(s.packet(Tap::first, syn())) == "accept");
    CHECK(s.flows.installed.at(0).mark == FlowMark::unprotected);
  }
}

TEST_CASE("a SYN repeated unanswered gets its NS apart, and the server is spared SYN with data for a while [spec 3.4.1-2]") {
  auto options = basic_options();
  options.services[0].backends.resize(1);
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::first, syn())) == "replace");
  s.advance(seconds(1));
  CHECK(kinds(s.packet(Tap::first, syn())) == "send_own:NS accept");
  CHECK(s.counter(NodeCounter::inline_suspected) == 1);
  CHECK(s.flows.entry(tcp_tuple(kClient, kVip))->mark == FlowMark::waiting);
  // Another session does not have to find out for itself.
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.8:1", kVip).syn().build())) == "send_own:NS accept");
  CHECK(s.counter(NodeCounter::inline_avoided) == 1);
  s.advance(seconds(61));
  // After a while one SYN tries; the others wait for how it fares.
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.8:2", kVip).syn().build())) == "replace");
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.8:3", kVip).syn().build())) == "send_own:NS accept");
  s.advance(seconds(5));
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.8:4", kVip).syn().build())) == "replace");
}

TEST_CASE("a new SYN of a reused port, which has another sequence number, is no repeat") {
  NodeScript s(basic_options());
  s.packet(Tap::first, syn(1000));
  CHECK(kinds(s.packet(Tap::first, syn(2000))) == "replace");
  CHECK(s.counter(NodeCounter::inline_suspected) == 0);
}

TEST_CASE("an occasional loss does not end inline NS") {
  auto options = basic_options();
  options.services[0].backends.resize(1);
  NodeScript s(options);
  for (std::uint16_t port = 1; port <= 100; ++port) {
    const Buffer packet = tcp({address("203.0.113.9"), port}, endpoint(kVip)).syn().build();
    CHECK(kinds(s.packet(Tap::first, packet)) == "replace");
    if (port % 10 == 0) CHECK(kinds(s.packet(Tap::first, packet)) == "send_own:NS accept");
  }
  CHECK(s.counter(NodeCounter::inline_avoided) == 0);
}

TEST_CASE("when the table is nearly full unproven first packets are refused, known sessions' are not") {
  NodeScript s(basic_options());
  s.packet(Tap::first, syn(1));
  s.engine.set_table_pressure(true);
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.9:1", kVip).syn().build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_refused) == 1);
  CHECK(kinds(s.packet(Tap::first, syn(2))) == "replace");
  s.engine.set_table_pressure(false);
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.9:1", kVip).syn().build())) == "replace");
}

TEST_CASE("no usable server: the SYN is dropped") {
  auto options = basic_options();
  for (auto& b : options.services[0].backends) b.state = engine::BackendState::joining;
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_backend) == 1);
}

TEST_CASE("an explicit first packet of UDP creates at once, with the NS in its options") {
  NodeScript s(udp_options(engine::ExplicitFirst::dns));
  const auto outs = s.packet(Tap::stray, dns_query());
  REQUIRE(kinds(outs) == "drop send_flow");
  const auto c = carried_by(outs[1].octets);
  REQUIRE(c);
  CHECK(c->stripped == forwarded(dns_query()));
  CHECK(c->message.flags == 0);
  CHECK(c->message.protocol == Protocol::udp);
  CHECK(s.counter(NodeCounter::sent_ns_inline_udp) == 1);
  CHECK(s.counter(NodeCounter::recoveries_started) == 0);
  CHECK(s.flows.installed.at(0).one_way_suffices);
}

TEST_CASE("what only looks like a first packet queries") {
  NodeScript s(udp_options(engine::ExplicitFirst::dns));
  const auto outs = s.packet(Tap::stray, udp("203.0.113.7:5000", "198.51.100.1:53").payload("no query").build());
  CHECK(kinds(outs) == "drop send_own:QS send_own:QS");
  CHECK(s.flows.installed.empty());
}

TEST_CASE("two datagrams of one flow in a burst: one session, one backup, in order") {
  for (const bool same_burst : {true, false}) {
    CAPTURE(same_burst);
    NodeScript s(udp_options(engine::ExplicitFirst::any));
    const Buffer a = udp("203.0.113.7:5000", "198.51.100.1:53").payload("A").build();
    const Buffer aaaa = udp("203.0.113.7:5000", "198.51.100.1:53").payload("AAAA").build();
    if (same_burst) s.begin_burst();
    auto outs = s.packet(Tap::stray, a);
    auto second = s.packet(Tap::stray, aaaa);
    if (same_burst) {
      outs = s.end_burst();
      REQUIRE(kinds(outs) == "drop drop send_flow send_flow");
    } else {
      REQUIRE(kinds(outs) == "drop send_flow");
      REQUIRE(kinds(second) == "drop send_flow");
      outs.push_back(second[1]);
    }
    CHECK(carried_by(outs[outs.size() - 2].octets)->stripped == forwarded(a));
    CHECK(outs.back().octets == forwarded(aaaa));
    CHECK(s.flows.installed.size() == 1);
    CHECK(s.counter(NodeCounter::sent_ns_inline_udp) == 1);
  }
}

TEST_CASE("in a region that changed its owner a moment ago explicit datagrams query first (decision 14)") {
  auto options = udp_options(engine::ExplicitFirst::any);
  policy::Epoch former;
  former.key = options.placement_key;
  former.members = {{"s1", 1}};
  options.services[0].past_epochs = {former};
  NodeScript s(options);
  int queried = 0;
  for (std::uint16_t port = 1000; port < 1040; ++port) {
    const auto outs =
        s.packet(Tap::stray, udp({address("203.0.113.7"), port}, endpoint("198.51.100.1:53")).payload("x").build());
    const bool created = kinds(outs) == "drop send_flow";
    if (created) CHECK(server_of(s, s.flows.installed.size() - 1).address == address("10.0.0.1"));
    queried += !created;
  }
  CHECK(queried > 10);
  s.advance(seconds(121));
  CHECK(kinds(s.packet(Tap::stray, udp("203.0.113.7:999", "198.51.100.1:53").payload("x").build())) == "drop send_flow");
}

TEST_CASE("TTL 1 ends here when the packet is a copy of ours; the session stays") {
  NodeScript s(udp_options(engine::ExplicitFirst::any));
  CHECK(kinds(s.packet(Tap::stray, udp("203.0.113.7:5000", "198.51.100.1:53").ttl(1).payload("x").build())) == "drop");
  CHECK(s.counter(NodeCounter::drops_ttl) == 1);
  CHECK(s.flows.installed.size() == 1);
}
