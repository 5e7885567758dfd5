// SPDX-License-Identifier: BSD-3-Clause
// HS that are sent again though their session sends nothing.
#include <doctest/doctest.h>

#include <chrono>

#include "support/act_lab.hpp"

using namespace asrp;
using namespace asrp::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A session on a proven route has begun and said something; nobody has answered its HS.
struct Idle {
  explicit Idle(const TuplePair& session = act_session()) : pair(session), lab(act_options()) {
    const TuplePair other = act_session("10.0.0.1:39999", "203.0.113.99:6999");
    lab.sessions.known[other.client_side.reversed()] = LocalState::live;
    begin_act(lab, other);
    const Tuple& flow = pair.client_side;
    lab.sessions.known[flow.reversed()] = LocalState::live;
    const bool is_tcp = flow.protocol == Protocol::tcp;
    cookie = hello_in(lab.out(is_tcp ? client_syn(flow) : client_datagram(flow)).burst());
    REQUIRE(cookie);
    if (!is_tcp) return;
    lab.now += milliseconds(10);
    CHECK(lab.out(client_ack(flow)).one().kind == OutputKind::accept);
  }

  /// What is sent in the next second, and when it ends.
  std::vector<HolderOut> second() {
    lab.now += seconds(1);
    lab.engine->on_timeout(lab.now);
    return lab.burst();
  }

  TuplePair pair;
  HolderLab lab;
  std::optional<Cookie> cookie;
};

}  // namespace

TEST_CASE("an HS without an answer is sent again a second later, with the last packet of a session that is silent") {
  Idle idle;
  const auto outs = idle.second();
  REQUIRE(outs.size() == 1);
  CHECK(outs[0].kind == OutputKind::send_after);
  CHECK(hello_in(outs) == idle.cookie);
  const auto packet = outs[0].view();
  CHECK(packet.tuple() == idle.pair.client_side);
  CHECK(packet.tcp_flags() == packet::kTcpAck);
  CHECK(idle.lab.count(HolderCounter::sent_hs) == 3);  // one of the session that has proven the route
  CHECK(answer(idle.lab, idle.pair, *idle.cookie).empty());
  CHECK(idle.lab.engine->gauges().act_backups == 2);
  CHECK(idle.second().empty());
}

TEST_CASE("the same of UDP: an empty datagram with the HS in its option area") {
  Idle idle(act_udp_session());
  const auto outs = idle.second();
  CHECK(hello_in(outs) == idle.cookie);
  REQUIRE(outs.size() == 1);
  CHECK(outs[0].view().payload().empty());
}

TEST_CASE("a session has eight HS in all, whoever sends them") {
  Idle idle;
  unsigned hellos = 1;
  for (unsigned n = 0; n < 20; ++n) {
    // Another session keeps the route proven.
    begin_act(idle.lab, act_session("10.0.0.1:" + std::to_string(20000 + n), "203.0.113.99:" + std::to_string(2000 + n)));
    hellos += hello_in(idle.second()) ? 1U : 0U;
  }
  CHECK(hellos == 8);
}

TEST_CASE("nothing is sent again of a session that has ended, is ending, or has sent nothing behind its SYN") {
  SUBCASE("no socket") {
    Idle idle;
    idle.lab.sessions.known.clear();
    CHECK(idle.second().empty());
  }
  SUBCASE("FIN") {
    Idle idle;
    idle.lab.out(tcp(idle.pair.client_side).flags(0x11).build()).burst();
    CHECK(idle.second().empty());
  }
  SUBCASE("SYN alone") {
    HolderLab lab(act_options());
    begin_act(lab, act_session("10.0.0.1:39999", "203.0.113.99:6999"));
    lab.sessions.known[act_session().client_side.reversed()] = LocalState::live;
    CHECK(hello_in(lab.out(client_syn(act_session().client_side)).burst()));
    lab.wait(seconds(5));
  }
}

TEST_CASE("nothing is sent again where no gateway has answered, or by another route than before") {
  SUBCASE("another route") {
    Idle idle;
    idle.lab.paths.route = 2;
    CHECK(idle.second().empty());
  }
  SUBCASE("unknown") {
    HolderLab lab(act_options());
    const Tuple flow = act_udp_session().client_side;
    lab.sessions.known[flow.reversed()] = LocalState::live;
    CHECK(lab.out(client_datagram(flow)).one().kind == OutputKind::replace);
    lab.wait(seconds(5));
  }
}
