// SPDX-License-Identifier: BSD-3-Clause
// Recoveries: who is asked what and when, which RS counts, and what becomes of the held packets.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

Buffer segment(std::string_view text = "data") { return tcp(kClient, kVip).push().payload(text).build(); }

/// Drop, then one QS for each candidate of the first round; the queries in the order of the list.
std::vector<Datagram> ask(NodeScript& s, const Buffer& packet) {
  const auto outs = s.packet(Tap::stray, packet);
  REQUIRE(outs.size() >= 2);
  CHECK(outs[0].kind == OutputKind::drop);
  std::vector<Datagram> queries;
  for (std::size_t i = 1; i < outs.size(); ++i) {
    const auto d = datagram(outs[i]);
    REQUIRE(d);
    CHECK(d->message.type == MsgType::QS);
    queries.push_back(*d);
  }
  return queries;
}

std::vector<Out> answer(NodeScript& s, const Datagram& query, const Buffer& octets) {
  return s.message(answer_from(query), kNode, octets);
}

TuplePair session_at(const Datagram& query, std::string_view client = kClient) {
  return {tcp_tuple(client, kVip), {endpoint(client), {query.to.address, 8080}, Protocol::tcp}};
}

}  // namespace

TEST_CASE("a mid-stream segment is held and the candidates are asked [spec 4.3.6-1, 4.3.6-2, 4.3.6-4, 4.1.2-3]") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment());
  REQUIRE(queries.size() == 2);
  CHECK(queries[0].to.address != queries[1].to.address);
  for (const Datagram& q : queries) {
    CHECK(q.from.address == address(kNode));
    CHECK(q.from.port >= 1024);
    CHECK(q.to.port == 51200);
    CHECK(q.message.st1 == tcp_tuple(kClient, kVip));
    CHECK(q.message.protocol == Protocol::tcp);
  }
  CHECK(s.engine.gauges().recoveries == 1);
  CHECK(s.engine.gauges().held_packets == 1);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("cookies and source ports of queries are random [spec 4.3.6-3, 4.3.2-1, 4.1-3]") {
  NodeScript s(basic_options());
  std::set<std::uint32_t> cookies;
  std::set<std::uint16_t> ports;
  for (std::uint16_t port = 1; port <= 50; ++port) {
    for (const Datagram& q : ask(s, tcp({address("203.0.113.7"), port}, endpoint(kVip)).push().payload("x").build())) {
      cookies.insert(q.message.cookie.value);
      ports.insert(q.from.port);
    }
  }
  CHECK(cookies.size() == 100);
  CHECK(ports.size() > 95);
}

TEST_CASE("RS restores the session, and what was held goes on in order [spec 4.3.7-2, 3.5.2-1]") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment("one"));
  CHECK(kinds(s.packet(Tap::stray, segment("two"))) == "drop");
  const TuplePair pair = session_at(queries[0]);
  s.now += milliseconds(1);
  const auto outs = answer(s, queries[0], rs_to(queries[0], pair));
  REQUIRE(kinds(outs) == "send_flow send_flow");
  CHECK(outs[0].octets == forwarded(segment("one")));
  CHECK(outs[1].octets == forwarded(segment("two")));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed.at(0).tuples == pair);
  CHECK(s.flows.installed.at(0).proven);
  CHECK(s.flows.installed.at(0).one_way_suffices);
  CHECK(s.flows.installed.at(0).mark == FlowMark::none);
  CHECK(s.counter(NodeCounter::sessions_restored_rs) == 1);
  CHECK(s.engine.gauges().recoveries == 0);
  CHECK(s.engine.gauges().held_packets == 0);
  REQUIRE(s.events.count(EventKind::session_restored) == 1);
  CHECK(s.events.all.back().latency == milliseconds(1));
  CHECK(s.engine.durations().restored.counts()[2] == 1);  // up to 1 ms
  CHECK(s.engine.durations().restored.sum() == milliseconds(1));
  CHECK(s.engine.durations().no_session.sum() == Duration::zero());
  CHECK(s.engine.durations().silence.sum() == Duration::zero());
  // The other candidate's answer is late, and nothing is repeated.
  CHECK(answer(s, queries[1], rx_to(queries[1])).empty());
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  CHECK(s.advance(seconds(1)).empty());
}

TEST_CASE("a packet that was queued before its session came is sent after it") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment());
  answer(s, queries[0], rs_to(queries[0], session_at(queries[0])));
  const auto outs = s.packet(Tap::stray, segment("late"));
  REQUIRE(kinds(outs) == "drop send_flow");
  CHECK(outs[1].octets == forwarded(segment("late")));
  // From the server's side as well.
  const Buffer reply = tcp(queries[0].to.address.to_string() + ":8080", kClient).push().payload("r").build();
  CHECK(kinds(s.packet(Tap::stray, reply)) == "drop send_flow");
  CHECK(s.counter(NodeCounter::recoveries_started) == 1);
}

TEST_CASE("silent candidates are asked again after 20, 60 and 140 ms, with the same header and cookie; 400 ms end it") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment());
  answer(s, queries[0], rx_to(queries[0]));
  const auto expect_repeat = [&](Duration after) {
    CHECK(s.advance(after - milliseconds(1)).empty());
    const Datagram repeat = only_datagram(s.advance(milliseconds(1)), MsgType::QS);
    CHECK(repeat.from == queries[1].from);
    CHECK(repeat.to == queries[1].to);
    CHECK(repeat.payload == queries[1].payload);
  };
  expect_repeat(milliseconds(20));
  expect_repeat(milliseconds(40));
  expect_repeat(milliseconds(80));
  CHECK(s.advance(milliseconds(259)).empty());
  CHECK(s.engine.gauges().recoveries == 1);
  CHECK(s.advance(milliseconds(1)).empty());
  CHECK(s.engine.gauges().recoveries == 0);
  CHECK(s.counter(NodeCounter::recoveries_silence) == 1);
  CHECK(s.counter(NodeCounter::drops_silence) == 1);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("the list's first session counts, also if a later candidate answers first (decision 13)") {
  const auto run = [](bool first_has_it, bool first_silent) {
    NodeScript s(basic_options());
    const auto queries = ask(s, segment());
    const TuplePair first = session_at(queries[0]);
    const TuplePair second = session_at(queries[1]);
    CHECK(answer(s, queries[1], rs_to(queries[1], second)).empty());
    if (first_silent) {
      for (const Out& out : s.advance(milliseconds(49))) CHECK(datagram(out)->to == queries[0].to);
      CHECK(s.flows.installed.empty());
      CHECK(kinds(s.advance(milliseconds(1))) == "send_flow");
    } else if (first_has_it) {
      CHECK(kinds(answer(s, queries[0], rs_to(queries[0], first))) == "send_flow");
    } else {
      CHECK(kinds(answer(s, queries[0], rx_to(queries[0]))) == "send_flow");
    }
    REQUIRE(s.flows.installed.size() == 1);
    CHECK(s.flows.installed.at(0).tuples == (first_has_it ? first : second));
  };
  run(true, false);
  run(false, false);
  run(false, true);
}

TEST_CASE("a candidate known to be gone is not waited for") {
  NodeScript s(basic_options());
  const auto probe = ask(s, segment());
  s.port_unreachable(probe[0].to.address.to_string());
  CHECK(kinds(answer(s, probe[1], rs_to(probe[1], session_at(probe[1])))) == "send_flow");
}

TEST_CASE("RX from all of the first round: the next ranks are asked once; then it is over [spec 4.3.8-1, 3.5.3-3]") {
  NodeScript s(basic_options());
  auto queries = ask(s, segment());
  CHECK(answer(s, queries[0], rx_to(queries[0])).empty());
  const auto second = answer(s, queries[1], rx_to(queries[1]));
  REQUIRE(kinds(second) == "send_own:QS send_own:QS");
  std::set<IpAddress> asked{queries[0].to.address, queries[1].to.address};
  for (const Out& out : second) {
    const auto d = datagram(out);
    CHECK(asked.insert(d->to.address).second);
    CHECK(answer(s, *d, rx_to(*d)).empty());
  }
  CHECK(s.engine.gauges().recoveries == 0);
  CHECK(s.counter(NodeCounter::recoveries_second_round) == 1);
  CHECK(s.counter(NodeCounter::recoveries_no_session) == 1);
  CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  CHECK(s.events.count(EventKind::recovery_abandoned) == 1);
  CHECK(s.advance(seconds(1)).empty());
}

TEST_CASE("a session found in the second round is restored") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment());
  answer(s, queries[0], rx_to(queries[0]));
  const auto second = answer(s, queries[1], rx_to(queries[1]));
  const auto d = datagram(second.at(0));
  CHECK(kinds(answer(s, *d, rs_to(*d, session_at(*d)))) == "send_flow");
}

TEST_CASE("second rounds are limited in rate [spec 5-4]") {
  auto options = basic_options();
  options.limits.second_rounds = 1;
  NodeScript s(options);
  for (std::uint16_t port = 1; port <= 2; ++port) {
    const auto queries = ask(s, tcp({address("203.0.113.7"), port}, endpoint(kVip)).push().payload("x").build());
    answer(s, queries[0], rx_to(queries[0]));
    CHECK(answer(s, queries[1], rx_to(queries[1])).size() == (port == 1 ? 2 : 0));
  }
  CHECK(s.counter(NodeCounter::recoveries_budget) == 1);
}

TEST_CASE(
    "former servers of a region are candidates, newest epoch first, and at most eight are asked [spec 3.5.3-2, 3.5.3-3]") {
  auto options = basic_options();
  auto& service = options.services[0];
  for (int i = 5; i <= 30; ++i) {
    auto joining = backend("s" + std::to_string(i), "10.0.0." + std::to_string(i) + ":8080");
    joining.state = engine::BackendState::joining;
    service.backends.push_back(joining);
  }
  for (int e = 0; e < 6; ++e) {
    policy::Epoch epoch;
    epoch.key = options.placement_key;
    for (int i = 5 + 4 * e; i < 9 + 4 * e; ++i) epoch.members.push_back({"s" + std::to_string(i), 1});
    service.past_epochs.push_back(epoch);
  }
  NodeScript s(options);
  const auto queries = ask(s, segment());
  REQUIRE(queries.size() == 8);
  CHECK(s.counter(NodeCounter::recoveries_list_cut) == 1);
  const auto number = [](const Datagram& q) { return q.to.address.octets()[3]; };
  CHECK(number(queries[0]) <= 4);
  CHECK(number(queries[1]) <= 4);
}

TEST_CASE("a server that is joining is asked, since another node may rank it already") {
  auto options = basic_options();
  for (auto& b : options.services[0].backends) {
    if (b.id != "s1") b.state = engine::BackendState::joining;
  }
  NodeScript s(options);
  const auto queries = ask(s, segment());
  CHECK(queries.size() >= 2);
  CHECK(queries[0].to.address == address("10.0.0.1"));
}

TEST_CASE("UDP without a session: RX from all makes one, with F-NA [spec 4.3.3-5]") {
  NodeScript s(udp_options());
  const Buffer one = udp("203.0.113.7:5000", "198.51.100.1:53").payload("one").build();
  const Buffer two = udp("203.0.113.7:5000", "198.51.100.1:53").payload("two").build();
  auto queries = ask(s, one);
  CHECK(kinds(s.packet(Tap::stray, two)) == "drop");
  std::vector<Out> outs;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    outs = answer(s, queries[i], rx_to(queries[i]));
    for (const Out& out : outs) {
      if (const auto d = datagram(out)) queries.push_back(*d);
    }
  }
  REQUIRE(kinds(outs) == "send_flow send_flow");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->message.type == MsgType::NS);
  CHECK(c->message.has(wire::kFlagNa));
  CHECK(c->stripped == forwarded(one));
  CHECK(outs[1].octets == forwarded(two));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed.at(0).mark == FlowMark::waiting);
  CHECK(s.engine.gauges().waiting == 1);
}

TEST_CASE("UDP: RS restores instead") {
  NodeScript s(udp_options());
  const auto queries = ask(s, udp("203.0.113.7:5000", "198.51.100.1:53").payload("x").build());
  const TuplePair pair{udp_tuple("203.0.113.7:5000", "198.51.100.1:53"),
                       {endpoint("203.0.113.7:5000"), {queries[0].to.address, 5353}, Protocol::udp}};
  CHECK(kinds(answer(s, queries[0], rs_to(queries[0], pair))) == "send_flow");
  CHECK(s.flows.installed.at(0).mark == FlowMark::none);
}

TEST_CASE("bounds: packets per session, packets and octets in all, recoveries") {
  auto options = basic_options();
  SUBCASE("per session") {
    options.limits.held_packets_per_session = 2;
    NodeScript s(options);
    for (int i = 0; i < 4; ++i) s.packet(Tap::stray, segment());
    CHECK(s.engine.gauges().held_packets == 2);
    CHECK(s.counter(NodeCounter::drops_session_limit) == 2);
  }
  SUBCASE("in all") {
    options.limits.held_packets = 3;
    NodeScript s(options);
    for (std::uint16_t port = 1; port <= 5; ++port) {
      s.packet(Tap::stray, tcp({address("203.0.113.7"), port}, endpoint(kVip)).push().payload("x").build());
    }
    CHECK(s.engine.gauges().held_packets == 3);
    CHECK(s.counter(NodeCounter::drops_held_limit) == 2);
  }
  SUBCASE("octets") {
    options.limits.held_octets = 2 * segment().size() + 1;
    NodeScript s(options);
    for (int i = 0; i < 3; ++i) s.packet(Tap::stray, segment());
    CHECK(s.engine.gauges().held_octets == 2 * segment().size());
    CHECK(s.counter(NodeCounter::drops_held_limit) == 1);
  }
  SUBCASE("recoveries") {
    options.limits.recoveries = 1;
    NodeScript s(options);
    s.packet(Tap::stray, segment());
    CHECK(kinds(s.packet(Tap::stray, tcp("203.0.113.7:1", kVip).push().payload("x").build())) == "drop");
    CHECK(s.engine.gauges().recoveries == 1);
    CHECK(s.counter(NodeCounter::drops_recoveries_limit) == 1);
  }
}

TEST_CASE("ten thousand recoveries leave nothing behind") {
  NodeScript s(basic_options());
  for (int i = 0; i < 10000; ++i) {
    const Endpoint client{IpAddress::v4(static_cast<std::uint32_t>(0xcb007100 + i % 100)),
                          static_cast<std::uint16_t>(1024 + i / 100)};
    const auto outs = s.packet(Tap::stray, tcp(client, endpoint(kVip)).push().payload("x").build());
    const auto q = datagram(outs.at(1));
    s.message(answer_from(*q), kNode,
              rs_to(*q, {{client, endpoint(kVip), Protocol::tcp}, {client, {q->to.address, 8080}, Protocol::tcp}}));
    s.flows.entries.clear();
  }
  CHECK(s.counter(NodeCounter::sessions_restored_rs) == 10000);
  s.advance(seconds(1));
  const auto gauges = s.engine.gauges();
  CHECK(gauges.recoveries + gauges.held_packets + gauges.held_octets + gauges.waiting + gauges.attempts == 0);
}

TEST_CASE("without an own address of the family nothing can be asked") {
  auto options = basic_options();
  options.local_ips = {address("2001:db8:10::10")};
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_local_address) == 1);
}

TEST_CASE("how long a recovery took is counted by its outcome") {
  NodeScript s(basic_options());
  const auto queries = ask(s, segment());
  s.now += milliseconds(3);
  answer(s, queries[0], rx_to(queries[0]));
  for (const Out& out : answer(s, queries[1], rx_to(queries[1]))) {  // the second round
    const auto query = datagram(out);
    REQUIRE(query);
    answer(s, *query, rx_to(*query));
  }
  CHECK(s.engine.durations().no_session.counts()[4] == 1);  // up to 5 ms
  CHECK(s.engine.durations().no_session.sum() == milliseconds(3));
  ask(s, segment());
  s.advance(seconds(1));
  CHECK(s.engine.durations().silence.counts()[10] == 1);  // up to query_limit, 400 ms
  CHECK(s.engine.durations().silence.sum() == milliseconds(400));
  CHECK(s.engine.durations().restored.sum() == Duration::zero());
  auto twice = s.engine.durations();
  twice += s.engine.durations();
  CHECK(twice.no_session.sum() == milliseconds(6));
  CHECK(twice.silence.counts()[10] == 2);
}

TEST_CASE("queries in flight: for which packet, who was asked, what was said") {
  NodeScript s(basic_options());
  CHECK(s.engine.queries(10).empty());
  const auto queries = ask(s, segment());
  REQUIRE(queries.size() == 2);
  s.packet(Tap::stray, segment("more"));
  auto flying = s.engine.queries(10);
  REQUIRE(flying.size() == 1);
  CHECK(flying[0].flow == tcp_tuple(kClient, kVip));
  CHECK(flying[0].kind == engine::QueryInFlight::Kind::client);
  CHECK(flying[0].held_packets == 2);
  CHECK(flying[0].repeats == 0);
  REQUIRE(flying[0].asked.size() == 4);  // the second round's are known, and not asked yet
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(flying[0].asked[i].address == queries[i].to.address);
    CHECK(flying[0].asked[i].answer == engine::QueryInFlight::Answer::silent);
  }
  for (std::size_t i = 2; i < 4; ++i) CHECK(flying[0].asked[i].answer == engine::QueryInFlight::Answer::not_asked);
  answer(s, queries[1], rx_to(queries[1]));
  flying = s.engine.queries(10);
  REQUIRE(flying.size() == 1);
  CHECK(flying[0].asked[0].answer == engine::QueryInFlight::Answer::silent);
  CHECK(flying[0].asked[1].answer == engine::QueryInFlight::Answer::no_session);
  ask(s, tcp("203.0.113.8:1", kVip).push().payload("x").build());
  CHECK(s.engine.queries(10).size() == 2);
  CHECK(s.engine.queries(1).size() == 1);
  CHECK(s.engine.queries(0).empty());
}
