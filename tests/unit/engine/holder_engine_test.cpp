// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

using std::chrono::seconds;

TEST_CASE("a quiet holder wants nothing and says nothing") {
  HolderLab lab;
  CHECK(!lab.engine->next_timeout());
  CHECK(lab.quiet());
  lab.engine->on_timeout(lab.now);
  CHECK(lab.quiet());
  CHECK(lab.store.commits == 0);
  CHECK(lab.log.events.empty());
}

TEST_CASE("one burst is one commit and one call for look-ups") {
  HolderLab lab;
  for (int i = 0; i < 100; ++i) {
    const TuplePair session = nat_session("203.0.113.7:" + std::to_string(1000 + i));
    lab.in(syn_with(session, ns_of(session).wants_ack()));
  }
  CHECK(lab.burst().size() == 200);
  CHECK(lab.store.commits == 1);
  CHECK(lab.sessions.calls == 0);
  lab.wait(seconds(2));
  CHECK(lab.sessions.calls == 1);
  CHECK(lab.sessions.looked_up == 100);
}

TEST_CASE("what leaves, leaves after the commit") {
  // The store fails at the commit: had anything been decided before, it would be in the outbox.
  HolderLab lab;
  lab.store.fail_commits = true;
  const TuplePair session = full_nat_session();
  lab.in(syn_with(session, ns_of(session).wants_ack()));
  CHECK(lab.engine->outbox().empty());
  CHECK(lab.one().kind == OutputKind::replace);
  CHECK(lab.count(HolderCounter::sent_na) == 0);
}

TEST_CASE("timeouts between a burst's packets and its flush do no harm") {
  HolderLab lab;
  const TuplePair older = full_nat_session("203.0.113.7:1", "10.9.0.1:2000");
  const TuplePair newer = full_nat_session("203.0.113.8:1", "10.9.0.1:2000");
  lab.in(syn_with(older, ns_of(older))).one();
  lab.wait(seconds(5));
  lab.in(syn_with(newer, ns_of(newer).wants_ack()));
  lab.engine->on_timeout(lab.now);
  const auto outs = lab.burst();
  REQUIRE(outs.size() == 2);
  CHECK(outs[1].message().type == MsgType::NA);
}

TEST_CASE("new options are in force from the next input on") {
  HolderLab lab;
  const TuplePair session = full_nat_session();
  auto options = HolderLab::default_options();
  options.nodes = {{address("192.0.3.0"), 24}};
  options.marker.exid = 0x5555;
  lab.engine->reconfigure(lab.now, options);
  CHECK(lab.engine->options().marker.exid == 0x5555);
  CHECK(lab.message(qs(session.client_side).build()).quiet());
  CHECK(lab.message(qs(session.client_side).build(), "192.0.3.1:4000").one().message().type == MsgType::RX);
  CHECK(lab.in(syn_with(session, ns_of(session))).one().kind == OutputKind::accept);
  const Buffer packet = with_message(syn_of(session), ns_of(session).build(), options.marker);
  CHECK(lab.in(packet).one().octets == syn_of(session));
}

TEST_CASE("assigned option kinds carry no ExID") {
  auto options = HolderLab::default_options();
  options.marker = {.tcp_kind = 88, .udp_kind = 99, .exid = 0};
  for (const Protocol protocol : {Protocol::tcp, Protocol::udp}) {
    HolderLab lab(options);
    const TuplePair session = nat_session("203.0.113.7:50000", protocol);
    const Buffer plain = protocol == Protocol::tcp ? syn_of(session) : datagram_of(session);
    const HolderOut verdict = lab.in(with_message(plain, ns_of(session).build(), options.marker)).one();
    CHECK(verdict.octets == plain);
    CHECK(lab.backups() == 1);
  }
}

TEST_CASE("gauges: backups, embryonic ones, and the index's memory") {
  HolderLab lab;
  for (int i = 0; i < 5; ++i) {
    const TuplePair session = nat_session("203.0.113.7:" + std::to_string(1000 + i));
    lab.sessions.known[session.server_side] = LocalState::live;
    lab.in(syn_with(session, ns_of(session)));
  }
  lab.burst();
  CHECK(lab.engine->gauges().backups == 5);
  CHECK(lab.engine->gauges().embryonic == 5);
  CHECK(lab.engine->gauges().index_octets > 0);
  lab.wait(seconds(2));
  CHECK(lab.engine->gauges().embryonic == 0);
}

}  // namespace
}  // namespace asrp::test
