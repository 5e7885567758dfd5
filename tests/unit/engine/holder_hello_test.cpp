// SPDX-License-Identifier: BSD-3-Clause
// HS of outgoing packets: decision 23, state by state. What an NS does is in holder_hello_answer_test.cpp.
#include <doctest/doctest.h>

#include <chrono>

#include "support/act_lab.hpp"

using namespace asrp;
using namespace asrp::test;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr std::uint32_t kDone = 1;

Tuple flow_from(std::uint32_t port) {
  Tuple flow = act_session().client_side;
  flow.src.port = static_cast<std::uint16_t>(port);
  return flow;
}

/// Sessions begin, one a second, until the route counts as one without a gateway. How many HS that took.
unsigned make_absent(HolderLab& lab) {
  unsigned hellos = 0;
  for (std::uint32_t n = 0; n < 20; ++n) {
    if (hello_in(lab.out(client_syn(flow_from(20000 + n))).burst())) ++hellos;
    lab.wait(seconds(2));
  }
  REQUIRE(lab.engine->gauges().routes_absent == 1);
  return hellos;
}

/// A gateway has answered.
HolderLab& make_proven(HolderLab& lab) {
  begin_act(lab, act_session("10.0.0.1:39999", "203.0.113.99:6999"));
  REQUIRE(lab.engine->gauges().routes_proven == 1);
  return lab;
}

}  // namespace

TEST_CASE("a SYN on an unknown route goes as it is, and a copy with HS follows it; nothing else of its session does") {
  HolderLab lab(act_options());
  const Buffer syn = client_syn(act_session().client_side);
  const auto outs = lab.out(syn).burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::accept);
  CHECK(outs[0].mark == kDone);
  CHECK(outs[1].kind == OutputKind::send_after);
  const auto copy = outs[1].view();
  CHECK(copy.tuple() == act_session().client_side);
  CHECK(copy.is_tcp_syn());
  CHECK(copy.tcp_sequence() == 1000);
  CHECK(outs[1].carried().type == MsgType::HS);
  CHECK(outs[1].carried().protocol == Protocol::tcp);
  CHECK(lab.out(client_data(act_session().client_side)).one().kind == OutputKind::accept);
  CHECK(lab.out(client_ack(act_session().client_side)).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::sent_hs) == 1);
}

TEST_CASE("a datagram on an unknown route has its HS in the option area or not at all") {
  HolderLab lab(act_options());
  const Tuple flow = act_udp_session().client_side;
  SUBCASE("there is room") {
    const HolderOut out = lab.out(client_datagram(flow)).one();
    CHECK(out.kind == OutputKind::replace);
    CHECK(out.mark == kDone);
    CHECK(out.carried().type == MsgType::HS);
    const Octets data = out.view().payload();
    CHECK(Buffer(data.begin(), data.end()) == octets_of("question"));
  }
  SUBCASE("there is none") {
    lab.paths.mtu = client_datagram(flow).size() + 10;
    CHECK(lab.out(client_datagram(flow)).one().kind == OutputKind::accept);
    CHECK(lab.count(HolderCounter::hello_impossible) == 1);
    CHECK(lab.count(HolderCounter::sent_hs) == 0);
  }
}

TEST_CASE("a session has three HS where no gateway has answered, a second apart at least, all with one cookie") {
  HolderLab lab(act_options());
  const Buffer syn = client_syn(act_session().client_side);
  const auto first = hello_in(lab.out(syn).burst());
  REQUIRE(first);
  lab.now += milliseconds(900);
  CHECK_FALSE(hello_in(lab.out(syn).burst()));
  lab.wait(milliseconds(100));
  CHECK(hello_in(lab.out(syn).burst()) == first);
  lab.wait(seconds(2));
  CHECK(hello_in(lab.out(syn).burst()) == first);
  lab.wait(seconds(4));
  CHECK_FALSE(hello_in(lab.out(syn).burst()));
  CHECK(lab.count(HolderCounter::hello_given_up) == 1);
  CHECK(lab.count(HolderCounter::hello_unanswered) == 3);
}

TEST_CASE("a burst of SYN on an unknown route has eight HS, whoever they are from, until one is answered") {
  HolderLab lab(act_options());
  unsigned hellos = 0;
  for (std::uint32_t n = 0; n < 50; ++n) hellos += hello_in(lab.out(client_syn(flow_from(20000 + n))).burst()) ? 1U : 0U;
  CHECK(hellos == 8);
}

TEST_CASE("eight HS without an answer: no gateway; then one SYN in a hundred and at most one a minute asks again") {
  HolderLab lab(act_options());
  CHECK(make_absent(lab) == 8);
  lab.wait(minutes(2));
  unsigned hellos = 0;
  for (std::uint32_t n = 0; n < 500; ++n) hellos += hello_in(lab.out(client_syn(flow_from(30000 + n))).burst()) ? 1U : 0U;
  CHECK(hellos == 1);  // of 500 in no time
  for (std::uint32_t n = 0; n < 60; ++n) {
    lab.wait(seconds(1));
    for (std::uint32_t i = 0; i < 10; ++i)
      hellos += hello_in(lab.out(client_syn(flow_from(31000 + 10 * n + i))).burst()) ? 1U : 0U;
  }
  CHECK(hellos == 2);  // of 600 in a minute
  CHECK(lab.engine->gauges().routes_absent == 1);
}

TEST_CASE("on an absent route nothing of a session but its SYN comes to the queue, and datagrams count as SYN do") {
  HolderLab lab(act_options());
  make_absent(lab);
  lab.wait(minutes(2));
  unsigned hellos = 0;
  for (std::uint32_t n = 0; n < 87; ++n) {  // and 12 SYN before
    const auto out = lab.out(client_datagram(udp_tuple("10.0.0.1:" + std::to_string(1024 + n), "198.51.100.9:443"))).one();
    CHECK(out.mark == kDone);
    hellos += out.kind == OutputKind::replace ? 1U : 0U;
  }
  CHECK(hellos == 0);
  CHECK(lab.out(client_datagram(udp_tuple("10.0.0.1:2000", "198.51.100.9:443"))).one().kind == OutputKind::replace);
}

TEST_CASE("an NS proves the route, also an absent one") {
  HolderLab lab(act_options());
  make_absent(lab);
  lab.wait(minutes(2));
  std::optional<Cookie> cookie;
  std::uint32_t n = 0;
  for (; !cookie; ++n) cookie = hello_in(lab.out(client_syn(flow_from(30000 + n))).burst());
  const TuplePair session = act_session("10.0.0.1:" + std::to_string(30000 + n - 1));
  answer(lab, session, *cookie);
  CHECK(lab.engine->gauges().routes_proven == 1);
  CHECK(lab.count(HolderCounter::routes_proven) == 1);
  CHECK(hello_in(lab.out(client_syn(flow_from(1000))).burst()));
}

TEST_CASE("on a proven route segments in mid-stream carry HS: inside data, behind a pure ACK, never with FIN or RST") {
  HolderLab lab(act_options());
  make_proven(lab);
  const Tuple flow = act_session().client_side;
  SUBCASE("data") {
    const HolderOut out = lab.out(client_data(flow)).one();
    CHECK(out.kind == OutputKind::replace);
    CHECK(out.mark == 0);
    CHECK(out.carried().type == MsgType::HS);
  }
  SUBCASE("data that fill the MTU") {
    lab.paths.mtu = 140;
    const auto outs = lab.out(tcp(flow).flags(0x18).payload(pattern(100)).build()).burst();
    REQUIRE(outs.size() == 2);
    CHECK(outs[0].kind == OutputKind::accept);
    CHECK(outs[1].kind == OutputKind::send_after);
  }
  SUBCASE("pure ACK") {
    const auto outs = lab.out(client_ack(flow)).burst();
    REQUIRE(outs.size() == 2);
    CHECK(outs[0].kind == OutputKind::accept);
    CHECK(outs[0].mark == 0);
    CHECK(outs[1].kind == OutputKind::send_after);
    CHECK(packet::is_separate(outs[1].view(), 16));
  }
  SUBCASE("closing") {
    for (const int flags : {0x11, 0x04, 0x14, 0x19}) {
      const HolderOut out = lab.out(tcp(flow).flags(static_cast<std::uint8_t>(flags)).payload("last").build()).one();
      CHECK(out.kind == OutputKind::accept);
      CHECK(out.mark == kDone);
    }
  }
  SUBCASE("a datagram without room") {
    const Tuple datagrams = act_udp_session().client_side;
    lab.paths.mtu = client_datagram(datagrams).size() + 10;
    CHECK(lab.out(client_datagram(datagrams)).one().kind == OutputKind::accept);  // nor has a datagram of its own room
    lab.paths.mtu = 60;
    const Buffer large = udp(datagrams).payload(pattern(40)).build();
    const auto outs = lab.out(large).burst();
    REQUIRE(outs.size() == 1);  // the first one counted as a try
    lab.wait(seconds(1));
    CHECK(hello_in(lab.out(large).burst()));
  }
}

TEST_CASE("on a proven route a session has eight HS, and then leaves the queue") {
  HolderLab lab(act_options());
  make_proven(lab);
  const Tuple flow = act_session().client_side;
  unsigned hellos = 0;
  for (int n = 0; n < 8; ++n) {
    const auto outs = lab.out(client_data(flow)).burst();
    CHECK(outs[0].mark == 0);
    hellos += hello_in(outs) ? 1U : 0U;
    lab.now += seconds(1);  // the engine's timer does not run: each HS is called unanswered by the next one
    // Another session is answered, so that the route stays proven.
    if (n == 4) begin_act(lab, act_session("10.0.0.1:38000", "203.0.113.99:6000"));
  }
  CHECK(hellos == 8);
  const HolderOut last = lab.out(client_data(flow)).one();
  CHECK(last.kind == OutputKind::accept);
  CHECK(last.mark == kDone);
}

TEST_CASE("a gateway that falls silent: after eight HS in a row without an answer no segment in mid-stream has one") {
  HolderLab lab(act_options());
  make_proven(lab);
  for (std::uint32_t n = 0; n < 8; ++n) {
    CHECK(hello_in(lab.out(client_syn(flow_from(20000 + n))).burst()));
    lab.wait(seconds(1));
  }
  CHECK(lab.engine->gauges().routes_absent == 1);
  const HolderOut out = lab.out(client_data(flow_from(20000))).one();
  CHECK(out.kind == OutputKind::accept);
  CHECK(out.mark == kDone);
}

TEST_CASE("evidence is of one route: after a change the host begins as in an unknown network") {
  HolderLab lab(act_options());
  make_proven(lab);
  CHECK(lab.out(client_data(flow_from(20000))).one().kind == OutputKind::replace);
  lab.paths.route = 2;
  const HolderOut out = lab.out(client_data(flow_from(20001))).one();
  CHECK(out.kind == OutputKind::accept);
  CHECK(out.mark == kDone);
  CHECK(hello_in(lab.out(client_syn(flow_from(20002))).burst()));
  CHECK(lab.engine->gauges().routes_unknown == 1);
  lab.paths.route = 0;  // the host has no route
  CHECK_FALSE(hello_in(lab.out(client_syn(flow_from(20003))).burst()));
}

TEST_CASE("evidence is of the way from one's own address: a host in two networks has HS in mid-stream in one of them alone") {
  HolderLab lab(act_options());
  make_proven(lab);
  lab.paths.routes_from[address("2001:db8:0:a::1")] = 2;
  CHECK(lab.out(client_data(flow_from(20000))).one().kind == OutputKind::replace);
  const HolderOut out = lab.out(client_data(tcp_tuple("[2001:db8:0:a::1]:40000", "[2001:db8:9::9]:443"))).one();
  CHECK(out.kind == OutputKind::accept);
  CHECK(out.mark == kDone);
}

TEST_CASE("a proven route is told of once, so that sessions without a backup may ask again; which those are") {
  HolderLab lab(act_options());
  CHECK_FALSE(lab.engine->take_sweep(lab.now));
  make_proven(lab);
  CHECK(lab.engine->take_sweep(lab.now));
  CHECK_FALSE(lab.engine->take_sweep(lab.now));
  CHECK(lab.engine->may_ask(flow_from(20000)));
  CHECK(lab.engine->may_ask(act_udp_session().client_side));
  CHECK_FALSE(lab.engine->may_ask(act_session("10.0.0.1:39999", "203.0.113.99:6999").client_side));  // has one
  CHECK_FALSE(lab.engine->may_ask(tcp_tuple("203.0.113.7:50000", "10.0.0.1:8080")));                 // not this host's
  CHECK_FALSE(lab.engine->may_ask(udp_tuple("10.0.0.1:5000", "198.51.100.1:53")));                   // to be skipped
  for (int n = 0; n < 8; ++n) {
    lab.out(client_data(flow_from(20000))).burst();
    lab.now += seconds(1);
  }
  CHECK_FALSE(lab.engine->may_ask(flow_from(20000)));  // has used up its tries
  lab.paths.route = 2;
  begin_act(lab, act_session());
  CHECK_FALSE(lab.engine->take_sweep(lab.now));  // ten seconds after the last one
  lab.now += seconds(2);
  CHECK(lab.engine->take_sweep(lab.now));
}

TEST_CASE("an answer that comes after the route has changed proves nothing about the new one") {
  HolderLab lab(act_options());
  const auto cookie = hello_in(lab.out(client_syn(act_session().client_side)).burst());
  lab.paths.route = 2;
  answer(lab, act_session(), *cookie);
  CHECK(lab.backups() == 1);
  CHECK_FALSE(hello_in(lab.out(client_data(flow_from(20000))).burst()));
}

TEST_CASE("a SYN with TCP Fast Open, or with data, has no HS: the server's application could get its octets") {
  HolderLab lab(act_options());
  const Tuple flow = act_session().client_side;
  for (const char* options : {"2202", "220affeeddccbbaa9988", "fd04f989", "fe08f98901020304",
                              "020405b40101220a1122334455667788", "2201" /* malformed */}) {
    CAPTURE(options);
    std::string padded(options);
    while (padded.size() % 8 != 0) padded += "00";
    CHECK(lab.out(tcp(flow).syn().options(padded).build()).one().kind == OutputKind::accept);
  }
  CHECK(lab.out(tcp(flow).syn().payload("early").build()).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::hello_fast_open) == 7);
  CHECK(lab.count(HolderCounter::sent_hs) == 0);
  // On a proven route what follows may ask.
  make_proven(lab);
  const HolderOut syn = lab.out(tcp(flow).syn().options("22020101").build()).one();
  CHECK(syn.mark == 0);
  CHECK(hello_in(lab.out(client_data(flow)).burst()));
}

TEST_CASE("[spec 3.5.4-1] a thousand HS a second in all, and what is beyond asks later") {
  HolderLab lab(act_options());
  make_proven(lab);
  unsigned hellos = 0;
  for (std::uint32_t n = 0; n < 1500; ++n) hellos += hello_in(lab.out(client_syn(flow_from(2000 + n))).burst()) ? 1U : 0U;
  CHECK(hellos == 999);  // and the one before
  CHECK(lab.count(HolderCounter::hello_rate) == 501);
  auto slower = act_options();
  slower.act.hello_rate = 1;
  lab.engine->reconfigure(lab.now, slower);
  begin_act(lab, act_session());
  for (std::uint32_t n = 0; n < 10; ++n) CHECK_FALSE(hello_in(lab.out(client_syn(flow_from(10000 + n))).burst()));
}

TEST_CASE("who gets no HS: destinations that are not configured, those to skip, groups, this host, ASRP-PORT, other packets") {
  auto options = act_options();
  options.act.destinations = {{address("198.51.100.0"), 24}, {address("10.0.0.0"), 8}};
  options.act.skip.push_back({Protocol::tcp, 22});
  HolderLab lab(options);
  for (const Buffer& packet :
       {client_syn(tcp_tuple("10.0.0.1:5", "198.51.101.1:80")), client_syn(tcp_tuple("10.0.0.1:5", "198.51.100.1:22")),
        client_syn(tcp_tuple("10.0.0.1:5", "10.0.0.1:80")), client_syn(tcp_tuple("10.0.0.99:5", "198.51.100.1:80")),
        client_datagram(udp_tuple("10.0.0.1:5", "198.51.100.1:53")),
        client_datagram(udp_tuple("10.0.0.1:53", "198.51.100.1:5")),
        client_datagram(udp_tuple("10.0.0.1:5", "198.51.100.1:51200"))}) {
    const HolderOut out = lab.out(packet).one();
    CHECK(out.kind == OutputKind::accept);
    CHECK(out.mark == kDone);
  }
  CHECK(lab.out(icmp_error("10.0.0.1", "198.51.100.1").build()).one().kind == OutputKind::accept);
  auto all = act_options();
  HolderLab open(all);
  for (const char* group : {"224.0.0.251", "255.255.255.255", "127.0.0.1", "0.0.0.0"})
    CHECK_FALSE(hello_in(open.out(client_datagram(udp_tuple("10.0.0.1:5", std::string(group) + ":500"))).burst()));
  CHECK_FALSE(hello_in(open.out(client_datagram(udp_tuple("[2001:db8:0:a::1]:5", "[ff02::fb]:5353"))).burst()));
  CHECK(hello_in(open.out(client_datagram(udp_tuple("[2001:db8:0:a::1]:5", "[2001:db8:9::9]:500"))).burst()));
}

TEST_CASE("without ACT mode, or without its store, outgoing packets are the servers' as ever") {
  HolderLab lab;
  const Buffer syn = client_syn(act_session().client_side);
  CHECK(lab.out(syn).one().kind == OutputKind::accept);
  engine::HolderEngine bare(act_options(), lab.store, lab.sessions, lab.paths, lab.random, lab.log);
  REQUIRE(bare.load(lab.now));
  bare.on_packet(lab.now, {0, 1}, Direction::outbound, syn);
  bare.flush(lab.now);
  CHECK(bare.outbox().outputs().size() == 1);
}

TEST_CASE(
    "the answers of this host's services stay PSV: no HS for a SYN/ACK, a service's datagram, or a session with a backup") {
  auto options = act_options();
  options.services = {{Protocol::udp, 5000, engine::Push::always, seconds(300)}};
  HolderLab lab(options);
  make_proven(lab);
  CHECK(lab.out(tcp(nat_session().server_side.reversed()).syn_ack().build()).one().kind == OutputKind::accept);
  CHECK(lab.out(client_datagram(udp_tuple("10.0.0.1:5000", "198.51.100.9:500"))).one().kind == OutputKind::accept);
  store(lab, udp_session());
  CHECK(lab.out(client_datagram(udp_session().server_side.reversed())).one().kind == OutputKind::accept);
  store(lab, nat_session());
  CHECK(lab.out(client_data(nat_session().server_side.reversed())).one().kind == OutputKind::accept);
  CHECK(lab.count(HolderCounter::sent_hs) == 1);
}
