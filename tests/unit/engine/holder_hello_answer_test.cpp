// SPDX-License-Identifier: BSD-3-Clause
// Backups of sessions in which this host is the client: what is taken, what is answered, how long they live; and that they and
// those of PSV are two books (decisions 15, 20, 21, 24).
#include <doctest/doctest.h>

#include <chrono>

#include "support/act_lab.hpp"

using namespace asrp;
using namespace asrp::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Asks as a gateway.
MsgType asked_by_gateway(HolderLab& lab, const Tuple& tuple) {
  return lab.message(qs(tuple).cookie(99).build(), kGateway).one().message().type;
}

Cookie greet(HolderLab& lab, const TuplePair& session = act_session()) {
  const bool is_tcp = session.client_side.protocol == Protocol::tcp;
  const auto cookie =
      hello_in(lab.out(is_tcp ? client_syn(session.client_side) : client_datagram(session.client_side)).burst());
  REQUIRE(cookie);
  return *cookie;
}

}  // namespace

TEST_CASE("an NS that answers an HS is stored and answered for by either tuple; then the session has no more HS") {
  HolderLab lab(act_options());
  begin_act(lab, act_session());
  CHECK(lab.act_store.size() == 1);
  CHECK(lab.store.size() == 0);
  for (const Tuple& tuple : {act_session().client_side, act_session().client_side.reversed(), act_session().server_side,
                             act_session().server_side.reversed()}) {
    const HolderOut rs = lab.message(qs(tuple).cookie(99).build(), kGateway).one();
    CHECK(rs.message().type == MsgType::RS);
    CHECK(rs.message().tuples() == act_session());
    CHECK(rs.message().cookie.value == 99);
  }
  CHECK_FALSE(hello_in(lab.out(client_syn(act_session().client_side)).burst()));
  CHECK(lab.out(client_data(act_session().client_side)).one().mark == 1);
  CHECK(lab.count(HolderCounter::hello_answered) == 1);
}

TEST_CASE("an NS comes inside a packet of its session, too, which is handed on without it") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  const Buffer answer = tcp(act_session().client_side.reversed()).syn_ack().build();
  const HolderOut out = lab.in(with_message(answer, gateway_ns(act_session(), cookie).build())).one();
  CHECK(out.kind == OutputKind::replace);
  CHECK(out.octets == answer);
  CHECK(lab.act_store.size() == 1);
}

TEST_CASE("an NS that answers no HS of this host is discarded: cookie, tuple, time, sender, direction") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  const auto refused = [&](const TuplePair& session, Cookie with, std::string_view from, HolderCounter reason) {
    const std::uint64_t before = lab.count(reason);
    lab.message(gateway_ns(session, with).wants_ack().build(), from);
    CHECK(lab.quiet());
    CHECK(lab.count(reason) == before + 1);
  };
  refused(act_session(), Cookie{cookie.value + 1}, kGateway, HolderCounter::discarded_hello);
  refused(act_session("10.0.0.1:40001"), cookie, kGateway, HolderCounter::discarded_hello);
  refused(act_session("10.0.0.2:40000"), cookie, kGateway, HolderCounter::discarded_hello);
  TuplePair turned = act_session();
  turned.client_side = turned.client_side.reversed();
  refused(turned, cookie, kGateway, HolderCounter::discarded_hello);
  refused(act_session(), cookie, "198.51.100.9:51200", HolderCounter::discarded_sender);
  refused(act_session(), cookie, "192.0.2.10:51200", HolderCounter::discarded_hello);  // a node of the other cluster
  refused(nat_session(), cookie, kGateway, HolderCounter::discarded_hello);            // and a gateway as such a node
  CHECK(lab.backups() == 0);
  CHECK(lab.engine->gauges().routes_proven == 0);

  // Inside a packet of another flow.
  const Buffer other = tcp(act_session("10.0.0.1:40001").client_side.reversed()).syn_ack().build();
  CHECK(lab.in(with_message(other, gateway_ns(act_session(), cookie).build())).one().kind == OutputKind::replace);
  CHECK(lab.backups() == 0);

  lab.wait(seconds(70));
  refused(act_session(), cookie, kGateway, HolderCounter::discarded_hello);
  auto off = act_options();
  off.act.enabled = false;
  lab.engine->reconfigure(lab.now, off);
  refused(act_session(), cookie, kGateway, HolderCounter::discarded_sender);
}

TEST_CASE("an NS that comes again within two seconds replaces cookie and Session-Data; later it answers nothing") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  answer(lab, act_session(), cookie);
  lab.sessions.known[act_session().client_side.reversed()] = LocalState::live;
  lab.wait(milliseconds(1900));
  lab.message(gateway_ns(act_session(), cookie).session_data("aabb").build(), kGateway);
  CHECK(lab.quiet());
  CHECK(lab.count(HolderCounter::backups_refreshed) == 1);
  const HolderOut rs = lab.message(qs(act_session().client_side).build(), kGateway).one();
  CHECK(rs.message().session_data.size() == 2);
  lab.wait(seconds(3));
  lab.message(gateway_ns(act_session(), cookie).build(), kGateway);
  CHECK(lab.quiet());
  CHECK(lab.count(HolderCounter::discarded_hello) == 1);
}

TEST_CASE("F-NA is answered with NA to the gateway, from the session's own address") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  const HolderOut na = lab.message(gateway_ns(act_session(), cookie).wants_ack().build(), kGateway).one();
  CHECK(na.message().type == MsgType::NA);
  CHECK(na.message().cookie == cookie);
  CHECK(na.view().tuple() == udp_tuple("10.0.0.1:51200", "192.0.2.129:51200"));
}

TEST_CASE("an outside port that another session of this host has is a conflict on the server side, unless that one is over") {
  HolderLab lab(act_options());
  const TuplePair older = act_session("10.0.0.1:39000");
  begin_act(lab, older);
  SUBCASE("it lives") { lab.sessions.known[older.client_side.reversed()] = LocalState::live; }
  SUBCASE("it opens") { lab.sessions.known[older.client_side.reversed()] = LocalState::opening; }
  SUBCASE("it is over") {}
  const bool conflicts = !lab.sessions.known.empty();
  const Cookie cookie = greet(lab);
  const auto outs = lab.message(gateway_ns(act_session(), cookie).wants_ack().build(), kGateway).burst();
  REQUIRE(outs.size() == 1);
  CHECK(outs[0].message().type == (conflicts ? MsgType::NC : MsgType::NA));
  CHECK_FALSE(outs[0].message().has(wire::kFlagCc));
  CHECK((asked_by_gateway(lab, act_session().client_side) == MsgType::RS) == !conflicts);
  if (!conflicts) return;
  // The gateway takes its next port, for the same HS.
  const TuplePair next = act_session("10.0.0.1:40000", "203.0.113.99:7001");
  CHECK(lab.message(gateway_ns(next, cookie).wants_ack().build(), kGateway).one().message().type == MsgType::NA);
}

TEST_CASE("two gateways answer for one session: the later one counts while it opens, F-CC once it lives") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  answer(lab, act_session(), cookie);
  const TuplePair other = act_session("10.0.0.1:40000", "203.0.113.98:8000");
  SUBCASE("it opens") {
    lab.sessions.known[other.client_side.reversed()] = LocalState::opening;
    CHECK(answer(lab, other, cookie).empty());
    CHECK(lab.message(qs(other.client_side).build(), kGateway).one().message().tuples() == other);
  }
  SUBCASE("it lives") {
    lab.sessions.known[other.client_side.reversed()] = LocalState::live;
    const auto outs = answer(lab, other, cookie);
    REQUIRE(outs.size() == 1);
    CHECK(outs[0].message().type == MsgType::NC);
    CHECK(outs[0].message().has(wire::kFlagCc));
    CHECK(outs[0].message().st2 == act_session().server_side);
  }
  CHECK(lab.backups() == 1);
}

TEST_CASE("a SYN that is repeated asks again: it may have taken another gateway, whose session is the one that counts") {
  HolderLab lab(act_options());
  begin_act(lab, act_session());
  lab.sessions.known[act_session().client_side.reversed()] = LocalState::opening;
  lab.wait(milliseconds(900));
  CHECK_FALSE(hello_in(lab.out(client_syn(act_session().client_side)).burst()));
  CHECK(lab.backups() == 1);
  Duration later = milliseconds(100);
  SUBCASE("a second after the first HS") {}
  SUBCASE("when the first HS is forgotten") { later = seconds(7); }
  lab.wait(later);
  const auto cookie = hello_in(lab.out(client_syn(act_session().client_side)).burst());
  REQUIRE(cookie);
  CHECK(lab.backups() == 1);  // until another gateway says otherwise
  const TuplePair other = act_session("10.0.0.1:40000", "203.0.113.98:8000");
  CHECK(answer(lab, other, *cookie).empty());
  CHECK(lab.message(qs(other.server_side.reversed()).build(), kGateway).one().message().tuples() == other);
  CHECK(lab.backups() == 1);
}

TEST_CASE("a connection attempt that fails leaves nothing; one that takes long keeps its backup") {
  HolderLab lab(act_options());
  begin_act(lab, act_session());
  SUBCASE("refused: its notice") {
    lab.ended(act_session().client_side.reversed());
    CHECK(lab.quiet());
    CHECK(lab.backups() == 0);
  }
  SUBCASE("refused: without a notice") {
    lab.wait(seconds(2));
    CHECK(lab.backups() == 0);
  }
  SUBCASE("SYN-SENT for two minutes, then established, then over") {
    lab.sessions.known[act_session().client_side.reversed()] = LocalState::opening;
    lab.wait(seconds(120));
    CHECK(lab.backups() == 1);
    lab.sessions.known[act_session().client_side.reversed()] = LocalState::live;
    lab.wait(seconds(120));
    CHECK(lab.embryonic() == 0);
    lab.sessions.known.clear();
    lab.ended(act_session().client_side.reversed());
    CHECK(lab.quiet());
    CHECK(lab.backups() == 0);
  }
}

TEST_CASE("a port that is used again: the SYN ends the former session's backup, a repeated SYN does not") {
  HolderLab lab(act_options());
  begin_act(lab, act_session());
  CHECK(lab.out(client_syn(act_session().client_side)).one().mark == 1);  // the same once more
  CHECK(lab.backups() == 1);
  SUBCASE("at once") {}
  SUBCASE("after it was seen alive") {
    lab.sessions.known[act_session().client_side.reversed()] = LocalState::live;
    lab.wait(seconds(10));
  }
  const auto cookie = hello_in(lab.out(client_syn(act_session().client_side, 777)).burst());
  REQUIRE(cookie);
  CHECK(lab.backups() == 0);
  const TuplePair next = act_session("10.0.0.1:40000", "203.0.113.99:7055");
  CHECK(answer(lab, next, *cookie).empty());
  CHECK(lab.message(qs(next.server_side).build(), kGateway).one().message().tuples() == next);
}

TEST_CASE("a UDP flow's backup lingers after conntrack's entry, and then yields its outside port") {
  auto options = act_options();
  options.act.udp_linger = seconds(100);
  HolderLab lab(options);
  const TuplePair session = act_udp_session();
  begin_act(lab, session);
  lab.sessions.known[session.client_side.reversed()] = LocalState::live;
  lab.wait(seconds(10));
  lab.sessions.known.clear();
  lab.ended(session.client_side);  // as the flow began
  CHECK(lab.quiet());
  lab.wait(seconds(50));
  CHECK(lab.backups() == 1);
  SUBCASE("time") {
    lab.wait(seconds(60));
    CHECK(lab.backups() == 0);
  }
  SUBCASE("another flow with the same outside port") {
    const TuplePair next = act_session("10.0.0.1:40001", "203.0.113.99:7000", Protocol::udp);
    const auto cookie = hello_in(lab.out(client_datagram(next.client_side)).burst());
    REQUIRE(cookie);
    CHECK(answer(lab, next, *cookie).empty());
    CHECK(lab.count(HolderCounter::released_replaced) == 1);
    CHECK(lab.backups() == 1);
  }
}

TEST_CASE("after a restart the backups of both books are there, each for its askers; sessions that ended are not") {
  HolderLab lab(act_options());
  begin_act(lab, act_session());
  begin_act(lab, act_session("10.0.0.1:40001", "203.0.113.99:7001"));
  store(lab, nat_session(), LocalState::live);
  lab.sessions.known[act_session().client_side.reversed()] = LocalState::live;
  lab.start(act_options());
  CHECK(lab.backups() == 2);
  CHECK(lab.engine->gauges().act_backups == 1);
  CHECK(asked_by_gateway(lab, act_session().server_side) == MsgType::RS);
  CHECK(asked_by_gateway(lab, nat_session().server_side) == MsgType::RX);
  CHECK(lab.knows(nat_session().server_side));
  CHECK_FALSE(lab.knows(act_session().server_side));
  CHECK(lab.engine->backup(engine::Role::act, 0)->tuples == act_session());
  CHECK(lab.engine->backup(engine::Role::psv, 0)->tuples == nat_session());
  CHECK(lab.engine->backup_limit(engine::Role::psv) == 1);
}

TEST_CASE("a sender that is node and gateway may ask for both; PSV's book comes first") {
  auto options = act_options();
  options.nodes = options.act.gateways = {{address("192.0.2.0"), 24}};
  HolderLab lab(options);
  begin_act(lab, act_session());
  store(lab, nat_session());
  CHECK(lab.knows(act_session().server_side));
  CHECK(lab.knows(nat_session().server_side));
  CHECK_FALSE(lab.knows(udp_session().server_side));
  // PSV's NS from it are taken as ever.
  lab.message(ns_of(full_nat_session("203.0.113.8:1", "10.9.0.1:3000")).build());
  CHECK(lab.quiet());
  CHECK(lab.backups() == 3);
}

TEST_CASE("a backend that is an ACT client: one tuple in both books is no conflict") {
  // This host reaches its own service through a gateway and a load balancer: ST2 of the one is ST1 of the other.
  HolderLab lab(act_options());
  const TuplePair outgoing{tcp_tuple("10.0.0.1:40000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:50000", "198.51.100.1:80")};
  begin_act(lab, outgoing);
  store(lab, nat_session());
  CHECK(nat_session().client_side == outgoing.server_side);
  CHECK(lab.backups() == 2);
  CHECK(lab.count(HolderCounter::conflicts_client) == 0);
  CHECK(lab.message(qs(outgoing.server_side).build(), kGateway).one().message().tuples() == outgoing);
  CHECK(lab.knows(nat_session().client_side));
}

TEST_CASE("one burst, one commit of each book: what one store refuses does not touch the other") {
  HolderLab lab(act_options());
  const Cookie cookie = greet(lab);
  lab.act_store.fail_commits = true;
  lab.message(gateway_ns(act_session(), cookie).wants_ack().build(), kGateway);
  lab.in(syn_with(nat_session(), ns_of(nat_session()).wants_ack()));
  const auto outs = lab.burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[0].kind == OutputKind::replace);
  CHECK(outs[1].message().type == MsgType::NA);
  CHECK(outs[1].message().tuples() == nat_session());
  CHECK(lab.engine->gauges().act_backups == 0);
  CHECK(lab.store.size() == 1);
  CHECK(lab.count(HolderCounter::backups_unsaved) == 1);
  // The session asks again.
  lab.act_store.fail_commits = false;
  lab.wait(seconds(1));
  const auto again = hello_in(lab.out(client_syn(act_session().client_side)).burst());
  REQUIRE(again == cookie);
  CHECK(answer(lab, act_session(), cookie).empty());
  CHECK(lab.engine->gauges().act_backups == 1);
}

TEST_CASE("IPv6 sessions") {
  HolderLab lab(act_options());
  const TuplePair session{{endpoint("[2001:db8:0:a::1]:40000"), endpoint("[2001:db8:9::9]:443"), Protocol::tcp},
                          {endpoint("[2001:db8:ff::1]:7000"), endpoint("[2001:db8:9::9]:443"), Protocol::tcp}};
  const Cookie cookie = greet(lab, session);
  lab.message(ns(session).cookie(cookie.value).node("2001:db8:0:3::1").wants_ack().build(), "[2001:db8:0:3::1]:51200",
              "[2001:db8:0:a::1]:51200");
  CHECK(lab.one().message().type == MsgType::NA);
  CHECK(lab.backups() == 1);
}
