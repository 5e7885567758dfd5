// SPDX-License-Identifier: BSD-3-Clause
// Answers must match what was asked, in every respect (decisions 12, 13).
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

struct Asked {
  Asked() : s(options()) {
    const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
    REQUIRE(kinds(outs) == "drop send_own:QS");
    query = *datagram(outs[1]);
    pair = {tcp_tuple(kClient, kVip), {endpoint(kClient), {query.to.address, 8080}, Protocol::tcp}};
  }
  static engine::NodeOptions options() {
    auto o = basic_options();
    o.services.resize(1);
    o.services[0].backends.resize(1);
    return o;
  }
  NodeScript s;
  Datagram query;
  TuplePair pair;
};

}  // namespace

TEST_CASE("an RS that is not the answer to the request is discarded, and the recovery goes on [spec 4.3.2-3, 4.3.7-1]") {
  Asked a;
  const auto expect = [&](NodeCounter why) {
    CAPTURE(engine::info(why).name);
    CHECK(a.s.counter(why) == 1);
    CHECK(a.s.engine.gauges().recoveries == 1);
    CHECK(a.s.flows.installed.empty());
  };
  SUBCASE("cookie") {
    a.s.message(answer_from(a.query), kNode, rs(a.pair).cookie(a.query.message.cookie.value ^ 1).build());
    expect(NodeCounter::discarded_cookie);
  }
  SUBCASE("address") {
    a.s.message({address("10.0.0.2"), a.query.from.port}, kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_address);
  }
  SUBCASE("port: RS must reuse the QS's header") {
    a.s.message({a.query.to.address, 51200}, kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_port);
  }
  SUBCASE("protocol") {
    a.s.message(answer_from(a.query), kNode, rs(a.pair).cookie(a.query.message.cookie.value).protocol(Protocol::udp).build());
    CHECK(a.s.counter(NodeCounter::discarded_protocol) + a.s.counter(NodeCounter::discarded_unmatched) == 1);
  }
  SUBCASE("another session") {
    TuplePair other = a.pair;
    other.client_side.src.port++;
    other.server_side.src.port++;
    a.s.message(answer_from(a.query), kNode, rs_to(a.query, other));
    expect(NodeCounter::discarded_unmatched);
  }
  SUBCASE("not to an address of ours (decision 9)") {
    a.s.message(answer_from(a.query), "192.0.2.99", rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_not_local);
  }
  SUBCASE("RX with a wrong cookie") {
    Datagram wrong = a.query;
    wrong.message.cookie.value ^= 1;
    a.s.message(answer_from(a.query), kNode, rx_to(wrong));
    expect(NodeCounter::discarded_cookie);
  }
}

TEST_CASE("an RS that answers the request with what can't be counts as RX [spec 5-1, 5-2, 5-3]") {
  Asked a;
  const auto expect = [&](NodeCounter why) {
    CAPTURE(engine::info(why).name);
    CHECK(a.s.counter(why) == 1);
    CHECK(a.s.counter(NodeCounter::recoveries_no_session) == 1);
    CHECK(a.s.counter(NodeCounter::drops_no_session) == 1);
    CHECK(a.s.flows.installed.empty());
  };
  SUBCASE("unknown server") {
    a.pair.server_side.dst = endpoint("10.0.0.66:8080");
    a.s.message(answer_from(a.query), kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_illegitimate);
  }
  SUBCASE("a known server's other port") {
    a.pair.server_side.dst.port = 22;
    a.s.message(answer_from(a.query), kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_illegitimate);
  }
  SUBCASE("nat: the client's address is not kept") {
    a.pair.server_side.src = endpoint("10.9.9.9:1");
    a.s.message(answer_from(a.query), kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_illegitimate);
  }
  SUBCASE("the queried tuple on the wrong side") {
    std::swap(a.pair.client_side, a.pair.server_side);
    a.s.message(answer_from(a.query), kNode, rs_to(a.query, a.pair));
    expect(NodeCounter::discarded_tuple);
  }
}

TEST_CASE("an RS that names a session at another server than the one asked counts as RX [spec 5-1, 5-3]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto first = datagram(outs[1]);
  const auto second = datagram(outs[2]);
  const auto at = [&](const Endpoint& server) {
    return TuplePair{tcp_tuple(kClient, kVip), {endpoint(kClient), server, Protocol::tcp}};
  };
  CHECK(s.message(answer_from(*first), kNode, rs_to(*first, at({second->to.address, 8080}))).empty());
  CHECK(s.counter(NodeCounter::discarded_elsewhere) == 1);
  CHECK(s.flows.installed.empty());
  const TuplePair right = at({second->to.address, 8080});
  CHECK(kinds(s.message(answer_from(*second), kNode, rs_to(*second, right))) == "send_flow");
  CHECK(s.flows.installed.at(0).tuples == right);
}

TEST_CASE("the same answer twice, and an answer after the end") {
  auto options = basic_options();
  NodeScript s(options);
  const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto first = datagram(outs[1]);
  const auto second = datagram(outs[2]);
  s.message(answer_from(*first), kNode, rx_to(*first));
  s.message(answer_from(*first), kNode, rx_to(*first));
  CHECK(s.counter(NodeCounter::discarded_repeated) == 1);
  const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {second->to.address, 8080}, Protocol::tcp}};
  CHECK(kinds(s.message(answer_from(*second), kNode, rs_to(*second, pair))) == "send_flow");
  CHECK(s.message(answer_from(*second), kNode, rs_to(*second, pair)).empty());
  CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  CHECK(s.flows.installed.size() == 1);
}

TEST_CASE("two RS that disagree: the first in the list is used, the other counted") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto queries = std::vector<Datagram>{*datagram(outs[1]), *datagram(outs[2])};
  const auto at = [&](const Datagram& q) {
    return TuplePair{tcp_tuple(kClient, kVip), {endpoint(kClient), {q.to.address, 8080}, Protocol::tcp}};
  };
  s.message(answer_from(queries[1]), kNode, rs_to(queries[1], at(queries[1])));
  s.message(answer_from(queries[0]), kNode, rs_to(queries[0], at(queries[0])));
  CHECK(s.flows.installed.at(0).tuples == at(queries[0]));
}

TEST_CASE("what is no message, or none for a node, is discarded and counted by reason [spec 4.3.1-1]") {
  NodeScript s(basic_options());
  const TuplePair pair{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.2:8080")};
  const Endpoint from = endpoint("10.0.0.2:51200");
  Buffer octets = na(pair).build();
  octets[0] = 1;
  s.message(from, kNode, octets);
  CHECK(s.counter(NodeCounter::discarded_version) == 1);
  octets = na(pair).build();
  octets[1] = 8;
  s.message(from, kNode, octets);
  CHECK(s.counter(NodeCounter::discarded_type) == 1);
  octets = na(pair).build();
  octets[2] = 5;
  s.message(from, kNode, octets);
  CHECK(s.counter(NodeCounter::discarded_sttype) == 1);
  octets = na(pair).build();
  octets.push_back(0);
  s.message(from, kNode, octets);
  CHECK(s.counter(NodeCounter::discarded_length) == 1);
  s.message(from, kNode, {});
  CHECK(s.counter(NodeCounter::discarded_truncated) == 1);
  s.message(from, kNode, ns(pair).build());
  s.message(from, kNode, ps(pair).build());
  s.message(from, kNode, qs(pair.client_side).build());
  s.message(from, kNode, hs(Protocol::tcp).build());
  CHECK(s.counter(NodeCounter::discarded_unexpected) == 4);
  CHECK(s.counter(NodeCounter::received_ns) == 1);
  CHECK(s.counter(NodeCounter::received_hs) == 1);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("[spec 4.1-3] of several engines behind one address each has its bits in the cookie of a QS; the rest is random") {
  std::set<std::uint32_t> cookies;
  for (std::uint32_t number = 0; number < 8; ++number) {
    auto options = basic_options();
    options.query_bits = 3;
    options.query_number = number;
    NodeScript s(options);
    for (int port = 4000; port < 4010; ++port) {
      const std::string client = "203.0.113.7:" + std::to_string(port);
      for (const Out& out : s.packet(engine::Tap::stray, tcp(client, "198.51.100.1:80").push().data(10).build()))
        if (const auto d = datagram(out)) {
          CHECK((d->message.cookie.value >> 29) == number);
          cookies.insert(d->message.cookie.value & 0x1fffffff);
        }
    }
  }
  CHECK(cookies.size() == 20);  // each script draws the same numbers
}

TEST_CASE("an engine says which NA and NC it waits for") {
  NodeScript s(basic_options());
  const TuplePair pair{tcp_tuple("203.0.113.7:50000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:50000", "10.0.0.2:8080")};
  s.flows.add(pair, engine::FlowMark::waiting);
  CHECK(!s.engine.expects(na(pair).build()));
  s.marked_flow({pair, engine::FlowMark::waiting, false});
  CHECK(s.engine.expects(na(pair).build()));
  CHECK(s.engine.expects(nc(pair).build()));
  const TuplePair other{tcp_tuple("203.0.113.7:50001", "198.51.100.1:80"), tcp_tuple("203.0.113.7:50001", "10.0.0.2:8080")};
  CHECK(!s.engine.expects(na(other).build()));
  CHECK(!s.engine.expects(Buffer(3)));
}
