// SPDX-License-Identifier: BSD-3-Clause
// Recoveries that meet: both directions of a session at once; and how far a recovery asks.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";
constexpr const char* kOutside = "10.1.0.1:3000";

std::vector<Datagram> queries_in(const std::vector<Out>& outs) {
  std::vector<Datagram> queries;
  for (const Out& out : outs) {
    const auto d = datagram(out);
    if (d && d->message.type == MsgType::QS) queries.push_back(*d);
  }
  return queries;
}

/// A session whose entry is lost, with packets of both directions held.
struct BothWays {
  BothWays() : s(full_nat_options()) {
    by_client = queries_in(s.packet(Tap::stray, request));
    server = by_client.at(1).to;  // not the first in the list
    server.port = 8080;
    pair = {tcp_tuple(kClient, kVip), {endpoint(kOutside), server, Protocol::tcp}};
    reply = tcp(pair.server_side.reversed()).push().payload("reply").build();
    by_server = queries_in(s.packet(Tap::stray, reply));
    REQUIRE(by_server.size() == 1);
  }
  NodeScript s;
  Buffer request = tcp(kClient, kVip).push().payload("request").build();
  Buffer reply;
  Endpoint server;
  TuplePair pair;
  std::vector<Datagram> by_client;
  std::vector<Datagram> by_server;
};

}  // namespace

TEST_CASE("both directions are being recovered: the RS to the server's query restores, and all that is held goes on") {
  BothWays t;
  const auto outs = t.s.message(answer_from(t.by_server[0]), kNode, rs_to(t.by_server[0], t.pair));
  REQUIRE(kinds(outs) == "send_flow send_flow");
  CHECK(outs[0].octets == forwarded(t.reply));
  CHECK(outs[1].octets == forwarded(t.request));
  CHECK(t.s.counter(NodeCounter::discarded_cookie) == 0);
  CHECK(t.s.engine.gauges().recoveries == 0);
  CHECK(t.s.engine.gauges().held_octets == 0);
  CHECK(t.s.advance(seconds(1)).empty());
}

TEST_CASE("both directions are being recovered: so does the RS to the client's query") {
  BothWays t;
  t.s.message(answer_from(t.by_client[0]), kNode, rx_to(t.by_client[0]));
  const auto outs = t.s.message(answer_from(t.by_client[1]), kNode, rs_to(t.by_client[1], t.pair));
  CHECK(kinds(outs) == "send_flow send_flow");
  CHECK(t.s.engine.gauges().recoveries == 0);
  CHECK(t.s.flows.entries.size() == 1);
}

TEST_CASE("an RS with the cookie of neither query is discarded, whatever waits [spec 4.3.2-3]") {
  BothWays t;
  const Datagram& q = t.by_server[0];
  const Buffer forged = rs(t.pair).cookie(q.message.cookie.value ^ 1).protocol(Protocol::tcp).build();
  CHECK(t.s.message(answer_from(q), kNode, forged).empty());
  CHECK(t.s.counter(NodeCounter::discarded_cookie) == 1);
  CHECK(t.s.flows.entries.empty());
}

TEST_CASE("a second round is eight more at most, and there is no third [spec 3.5.3-3]") {
  auto options = basic_options();
  options.services.resize(1);
  options.services[0].backends.clear();
  for (int i = 1; i <= 20; ++i) {
    const std::string n = std::to_string(i);
    options.services[0].backends.push_back(backend("s" + n, "10.0.0." + n + ":8080"));
  }
  NodeScript s(options);
  std::vector<Datagram> open = queries_in(s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build()));
  CHECK(open.size() == 2);
  std::size_t asked = 0;
  while (!open.empty()) {
    ++asked;
    const Datagram q = open.back();
    open.pop_back();
    for (const Datagram& more : queries_in(s.message(answer_from(q), kNode, rx_to(q)))) open.push_back(more);
  }
  CHECK(asked == 2 + 8);
  CHECK(s.counter(NodeCounter::recoveries_second_round) == 1);
  CHECK(s.engine.gauges().recoveries == 0);
}

TEST_CASE("no RST while a candidate has not been asked: its second round was over the rate (decision 12)") {
  auto options = basic_options();
  options.services[0].no_session = engine::NoSession::reset;
  options.limits.second_rounds = 1;
  NodeScript s(options);
  for (std::uint16_t port = 1; port <= 2; ++port) {
    CAPTURE(port);
    const Tuple tuple{{address("203.0.113.7"), port}, endpoint(kVip), Protocol::tcp};
    std::vector<Datagram> open = queries_in(s.packet(Tap::stray, tcp(tuple.src, tuple.dst).push().payload("x").build()));
    std::vector<Out> last;
    while (!open.empty()) {
      const Datagram q = open.back();
      open.pop_back();
      last = s.message(answer_from(q), kNode, rx_to(q));
      for (const Datagram& more : queries_in(last)) open.push_back(more);
    }
    CHECK(kinds(last) == (port == 1 ? "send_own" : ""));
  }
  CHECK(s.counter(NodeCounter::recoveries_budget) == 1);
  CHECK(s.counter(NodeCounter::resets_sent) == 1);
}
