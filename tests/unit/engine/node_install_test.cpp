// SPDX-License-Identifier: BSD-3-Clause
// flush(): one batch for a burst, and what the table says decides about each packet.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

Buffer syn(std::string_view client = kClient, std::uint32_t seq = 1000) { return tcp(client, kVip).syn().seq(seq).build(); }

/// The session that a SYN makes; it is not in the table any more.
TuplePair forgotten(NodeScript& s) {
  s.packet(Tap::first, syn());
  const TuplePair made = s.flows.entries.at(0).tuples;
  s.flows.entries.clear();
  s.flows.installed.clear();
  return made;
}

}  // namespace

TEST_CASE("a burst is one call to the table, verdicts in the order of the packets") {
  NodeScript s(basic_options());
  s.begin_burst();
  for (std::uint16_t port = 1; port <= 64; ++port) {
    s.packet(Tap::first, syn("203.0.113.9:" + std::to_string(port)));
  }
  const std::uint32_t last = s.last_packet();
  const auto outs = s.end_burst();
  CHECK(s.flows.batches == 1);
  REQUIRE(outs.size() == 64);
  for (std::size_t i = 0; i < outs.size(); ++i) {
    CHECK(outs[i].kind == OutputKind::replace);
    CHECK(outs[i].packet == last - 63 + i);
  }
}

TEST_CASE("an entry that is there keeps its mapping when its server is usable; the NS is made for it") {
  NodeScript s(basic_options());
  s.packet(Tap::first, syn());
  const Endpoint chosen = s.flows.entries.at(0).tuples.server_side.dst;
  const Endpoint other = chosen == endpoint("10.0.0.1:8080") ? endpoint("10.0.0.2:8080") : endpoint("10.0.0.1:8080");
  s.flows.entries.clear();
  const TuplePair there{tcp_tuple(kClient, kVip), {endpoint(kClient), other, Protocol::tcp}};
  s.flows.add(there);
  const auto outs = s.packet(Tap::first, syn(kClient, 2000));
  REQUIRE(kinds(outs) == "replace");
  CHECK(carried_by(outs[0].octets)->message.tuples() == there);
  CHECK(s.flows.entries.size() == 1);
  CHECK(s.counter(NodeCounter::sessions_again) == 1);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
}

TEST_CASE("an entry that is closing, or whose server is not usable any more, makes room for the SYN") {
  const auto run = [](const TuplePair& there, bool closing) {
    NodeScript s(basic_options());
    s.flows.add(there, FlowMark::none, closing);
    CHECK(kinds(s.packet(Tap::first, syn())) == "replace");
    REQUIRE(s.flows.installed.size() == 1);
    CHECK(s.flows.entries.size() == 1);
    CHECK(s.flows.entries.at(0).tuples == s.flows.installed.at(0).tuples);
    CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
  };
  run({tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.1:8080")}, true);
  run({tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.99:8080")}, false);
}

TEST_CASE("full NAT: a port that another session here has is passed over without a message") {
  NodeScript s(full_nat_options());
  const TuplePair mine = forgotten(s);
  TuplePair other = mine;
  other.client_side.src = endpoint("203.0.113.99:9");
  s.flows.add(other);
  const auto outs = s.packet(Tap::first, syn(kClient, 2000));
  REQUIRE(kinds(outs) == "replace");
  const auto c = carried_by(outs[0].octets);
  CHECK(c->message.st2.src == mapping_of(mine.client_side, 1));
  CHECK(c->message.cookie == policy::keyed_cookie(key_of(0x22), c->message.tuples()));
  CHECK(s.flows.installed.at(0).tuples == c->message.tuples());
  CHECK(s.counter(NodeCounter::conflicts_local) == 1);
}

TEST_CASE("full NAT: 64 taken ports and the SYN is dropped, also of a larger range") {
  NodeScript s(full_nat_options());
  const TuplePair mine = forgotten(s);
  std::size_t tries = 64;
  SUBCASE("all are taken") {}
  SUBCASE("but the last one tried") { --tries; }
  for (std::size_t i = 0; i < tries; ++i) {
    s.flows.add({{{address("203.0.113.50"), static_cast<std::uint16_t>(1 + i)}, endpoint(kVip), Protocol::tcp},
                 {mapping_of(mine.client_side, i), mine.server_side.dst, Protocol::tcp}});
  }
  CHECK(kinds(s.packet(Tap::first, syn(kClient, 2000))) == (tries == 64 ? "drop" : "replace"));
  CHECK(s.counter(NodeCounter::conflicts_local) == tries);
  CHECK(s.counter(NodeCounter::drops_mapping) == (tries == 64 ? 1 : 0));
}

TEST_CASE("full NAT: a range of eight ports, all taken, and the SYN is dropped") {
  auto options = full_nat_options();
  options.services[0].full_nat.first_port = 2000;
  options.services[0].full_nat.last_port = 2007;
  options.services[0].backends.resize(1);
  NodeScript s(options);
  for (std::uint16_t port = 2000; port <= 2007; ++port) {
    s.flows.add({{{address("203.0.113.50"), port}, endpoint(kVip), Protocol::tcp},
                 {{address("10.1.0.1"), port}, endpoint("10.0.0.1:8080"), Protocol::tcp}});
  }
  CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
  CHECK(s.counter(NodeCounter::conflicts_local) == 8);
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
}

TEST_CASE("nat: one client port to two services on one server: the next server of the list") {
  auto options = basic_options();
  engine::Service second = options.services[0];
  second.name = "web2";
  second.address = endpoint("198.51.100.2:80");
  options.services.push_back(second);
  NodeScript s(options);
  s.packet(Tap::first, syn());
  const TuplePair mine = s.flows.entries.at(0).tuples;
  s.flows.entries.clear();
  TuplePair other = mine;
  other.client_side.dst = endpoint("198.51.100.2:80");
  s.flows.add(other);
  REQUIRE(kinds(s.packet(Tap::first, syn(kClient, 2000))) == "replace");
  CHECK(s.flows.installed.back().tuples.server_side.dst != mine.server_side.dst);
}

TEST_CASE("full or broken table: the packet ends here, whichever way it came") {
  NodeScript s(basic_options());
  SUBCASE("full") {
    s.flows.capacity = 0;
    CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
    CHECK(s.counter(NodeCounter::drops_table_full) == 1);
  }
  SUBCASE("failing") {
    s.flows.failing = true;
    CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
    CHECK(s.counter(NodeCounter::drops_install) == 1);
  }
  SUBCASE("a recovery") {
    const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
    s.flows.capacity = 0;
    const auto q = datagram(outs.at(1));
    CHECK(s.message(answer_from(*q), kNode,
                    rs_to(*q, {tcp_tuple(kClient, kVip), {endpoint(kClient), {q->to.address, 8080}, Protocol::tcp}}))
              .empty());
    CHECK(s.counter(NodeCounter::drops_table_full) == 1);
    CHECK(s.engine.gauges().held_octets == 0);
  }
  CHECK(s.counter(NodeCounter::sessions_created) == 0);
  CHECK(s.counter(NodeCounter::sent_ns_inline_tcp) == 0);
}

TEST_CASE("RS for a session that is there: the same mapping is success, another one loses (decision 13)") {
  for (const bool same : {true, false}) {
    CAPTURE(same);
    NodeScript s(basic_options());
    const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
    const auto q = datagram(outs.at(1));
    const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {q->to.address, 8080}, Protocol::tcp}};
    TuplePair there = pair;
    if (!same) there.server_side.dst = endpoint("10.0.0.77:8080");
    s.flows.add(there);
    const auto sent = s.message(answer_from(*q), kNode, rs_to(*q, pair));
    CHECK(kinds(sent) == (same ? "send_flow" : ""));
    CHECK(s.counter(NodeCounter::sessions_restored_again) == (same ? 1 : 0));
    CHECK(s.counter(NodeCounter::discarded_entry) == (same ? 0 : 1));
    CHECK(s.counter(NodeCounter::drops_conflict) == (same ? 0 : 1));
    CHECK(s.flows.entries.at(0).tuples == there);
    CHECK(s.engine.gauges().held_octets == 0);
  }
}

TEST_CASE("a repeated SYN in the same burst makes its own NS, one session") {
  NodeScript s(basic_options());
  s.begin_burst();
  s.packet(Tap::first, syn());
  s.packet(Tap::first, syn());
  const auto outs = s.end_burst();
  REQUIRE(kinds(outs) == "replace replace");
  CHECK(carried_by(outs[0].octets)->message.tuples() == carried_by(outs[1].octets)->message.tuples());
  CHECK(s.flows.installed.size() == 1);
  CHECK(s.counter(NodeCounter::sent_ns_inline_tcp) == 2);
}

TEST_CASE("a segment that follows its SYN in the burst goes on behind it") {
  NodeScript s(basic_options());
  s.begin_burst();
  s.packet(Tap::first, syn());
  const Buffer data = tcp(kClient, kVip).push().payload("x").build();
  s.packet(Tap::stray, data);
  const auto outs = s.end_burst();
  REQUIRE(kinds(outs) == "drop replace send_flow");
  CHECK(outs[2].octets == forwarded(data));
}

TEST_CASE("an unprotected entry whose SYN now carries an NS again is protected") {
  NodeScript s(basic_options());
  s.packet(Tap::first, syn());
  s.flows.entries.at(0).mark = FlowMark::unprotected;
  s.packet(Tap::first, syn(kClient, 2000));
  CHECK(s.flows.entries.at(0).mark == FlowMark::none);
}
