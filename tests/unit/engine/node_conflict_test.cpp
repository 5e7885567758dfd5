// SPDX-License-Identifier: BSD-3-Clause
// NC: another mapping at once, or the holder's older session (decision 6).
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

Buffer syn() { return tcp(kClient, kVip).syn().options("020405b4").build(); }

/// A SYN of full NAT; the NS that it carried.
wire::Message start(NodeScript& s) {
  const auto outs = s.packet(Tap::first, syn());
  REQUIRE(kinds(outs) == "replace");
  return carried_by(outs[0].octets)->message;
}

Buffer nc_to(const wire::Message& ns, bool client_side = false) {
  auto builder = nc(ns.tuples()).cookie(ns.cookie.value);
  if (client_side) builder.client_side_conflict();
  return builder.build();
}
Endpoint holder_of(const wire::Message& ns) { return {ns.st2.dst.address, 51200}; }

}  // namespace

TEST_CASE("NC without F-CC: another port, at once, with the kept copy and a new NS [spec 4.3.5-3]") {
  NodeScript s(full_nat_options());
  const wire::Message first = start(s);
  const auto outs = s.message(holder_of(first), kNode, nc_to(first));
  REQUIRE(kinds(outs) == "send_flow");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->stripped == forwarded(syn()));
  CHECK(c->message.st1 == first.st1);
  CHECK(c->message.st2.dst == first.st2.dst);
  CHECK(c->message.st2.src == mapping_of(first.st1, 1));
  CHECK(c->message.cookie != first.cookie);
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == c->message.tuples());
  CHECK(s.counter(NodeCounter::conflicts_server_side) == 1);
}

TEST_CASE("eight mappings in all, then the packet is given up") {
  NodeScript s(full_nat_options());
  wire::Message ns = start(s);
  std::set<std::uint16_t> ports{ns.st2.src.port};
  for (int tries = 2; tries <= 8; ++tries) {
    const auto outs = s.message(holder_of(ns), kNode, nc_to(ns));
    REQUIRE(kinds(outs) == "send_flow");
    ns = carried_by(outs[0].octets)->message;
    CHECK(ports.insert(ns.st2.src.port).second);
  }
  CHECK(s.message(holder_of(ns), kNode, nc_to(ns)).empty());
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
  CHECK(s.flows.entries.empty());
  CHECK(s.engine.gauges().attempts == 0);
  CHECK(s.engine.gauges().held_octets == 0);
}

TEST_CASE("of a range of three ports each is asked for once") {
  auto options = full_nat_options();
  options.services[0].full_nat.first_port = 2000;
  options.services[0].full_nat.last_port = 2002;
  NodeScript s(options);
  wire::Message ns = start(s);
  std::set<std::uint16_t> ports{ns.st2.src.port};
  for (int tries = 2; tries <= 3; ++tries) {
    const auto outs = s.message(holder_of(ns), kNode, nc_to(ns));
    REQUIRE(kinds(outs) == "send_flow");
    ns = carried_by(outs[0].octets)->message;
    CHECK(ports.insert(ns.st2.src.port).second);
  }
  CHECK(s.message(holder_of(ns), kNode, nc_to(ns)).empty());
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
}

TEST_CASE("ports that are taken at this node are not of the eight, and are passed over") {
  constexpr std::size_t kTaken = 20;
  NodeScript s(full_nat_options());
  wire::Message ns = start(s);
  const Tuple client = ns.st1;
  for (std::size_t i = 1; i <= kTaken; ++i) {
    s.flows.add({{{address("203.0.113.50"), static_cast<std::uint16_t>(i)}, endpoint(kVip), Protocol::tcp},
                 {mapping_of(client, i), ns.st2.dst, Protocol::tcp}});
  }
  for (std::size_t refused = 1; refused < 8; ++refused) {
    const auto outs = s.message(holder_of(ns), kNode, nc_to(ns));
    REQUIRE(kinds(outs) == "send_flow");
    ns = carried_by(outs[0].octets)->message;
    CHECK(ns.st2.src == mapping_of(client, kTaken + refused));
  }
  CHECK(s.message(holder_of(ns), kNode, nc_to(ns)).empty());
  CHECK(s.counter(NodeCounter::conflicts_local) == kTaken);
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
}

TEST_CASE("an NC acts only on a kept attempt whose cookie and mapping match [spec 4.3.2-3]") {
  NodeScript s(full_nat_options());
  const wire::Message ns = start(s);
  const TuplePair before = s.flows.entries.at(0).tuples;
  SUBCASE("cookie") {
    s.message(holder_of(ns), kNode, nc(ns.tuples()).cookie(ns.cookie.value ^ 1).build());
    CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
  }
  SUBCASE("address") {
    s.message(endpoint("10.0.0.77:51200"), kNode, nc_to(ns));
    CHECK(s.counter(NodeCounter::discarded_address) == 1);
  }
  SUBCASE("mapping") {
    TuplePair other = ns.tuples();
    other.server_side.src.port ^= 1;
    s.message(holder_of(ns), kNode, nc(other).cookie(ns.cookie.value).build());
    CHECK(s.counter(NodeCounter::discarded_tuple) == 1);
  }
  SUBCASE("too late") {
    s.advance(milliseconds(200));
    s.message(holder_of(ns), kNode, nc_to(ns));
    CHECK(s.counter(NodeCounter::discarded_unmatched) == 1);
  }
  CHECK(s.flows.entries.at(0).tuples == before);
}

TEST_CASE("the NC of a mapping given up already does nothing") {
  NodeScript s(full_nat_options());
  const wire::Message ns = start(s);
  s.message(holder_of(ns), kNode, nc_to(ns));
  const TuplePair second = s.flows.entries.at(0).tuples;
  CHECK(s.message(holder_of(ns), kNode, nc_to(ns)).empty());
  CHECK(s.counter(NodeCounter::discarded_cookie) == 1);
  CHECK(s.flows.entries.at(0).tuples == second);
}

TEST_CASE("the next mapping's NS travels as the first one's did, and asks for an NA as it did") {
  SUBCASE("apart: the path or the packet did not allow more") {
    NodeScript s(full_nat_options());
    const auto outs =
        s.packet(Tap::first, tcp(kClient, kVip).syn().options("0101131200000000000000000000000000000000").build());
    REQUIRE(kinds(outs) == "send_own:NS drop");
    const wire::Message ns = datagram(outs[0])->message;
    const wire::Message next = only_datagram(s.message(holder_of(ns), kNode, nc_to(ns)), MsgType::NS).message;
    CHECK(next.has(wire::kFlagNa));
    CHECK(s.counter(NodeCounter::inline_protected) == 1);
    CHECK(s.flows.entries.at(0).mark == FlowMark::waiting);
    CHECK(s.engine.gauges().waiting == 1);
    // The SYN itself, which has waited since it came.
    const Buffer na_octets = na(next.tuples()).cookie(next.cookie.value).build();
    CHECK(kinds(s.message(holder_of(next), kNode, na_octets)) == "send_flow");
  }
  SUBCASE("UDP after a query: F-NA [spec 4.3.3-5]") {
    auto options = full_nat_options();
    for (auto& service : options.services) service.protocol = Protocol::udp;
    options.services[0].backends.resize(1);
    NodeScript s(options);
    const auto outs = s.packet(Tap::stray, udp(kClient, kVip).payload("x").build());
    REQUIRE(kinds(outs) == "drop send_own:QS");
    const auto q = datagram(outs[1]);
    auto sent = s.message(answer_from(*q), kNode, rx_to(*q));
    for (int i = 0; i < 2; ++i) {
      REQUIRE(kinds(sent) == "send_flow");
      const wire::Message ns = carried_by(sent[0].octets)->message;
      CHECK(ns.has(wire::kFlagNa));
      CHECK(s.engine.gauges().waiting == 1);
      sent = s.message(holder_of(ns), kNode, nc(ns.tuples()).protocol(Protocol::udp).cookie(ns.cookie.value).build());
    }
  }
}

TEST_CASE("NC with F-CC: the holder is asked, and its older mapping used [spec 4.3.5-3]") {
  NodeScript s(full_nat_options());
  const wire::Message ns = start(s);
  const Datagram q = only_datagram(s.message(holder_of(ns), kNode, nc_to(ns, true)), MsgType::QS);
  CHECK(q.to == holder_of(ns));
  CHECK(q.message.st1 == ns.st1);
  CHECK(s.flows.entries.empty());
  // The client's next SYN waits for the answer as well.
  CHECK(kinds(s.packet(Tap::first, syn())) == "drop");
  TuplePair older = ns.tuples();
  older.server_side.src.port = 4321;
  const auto outs = s.message(answer_from(q), kNode, rs_to(q, older));
  REQUIRE(kinds(outs) == "send_flow send_flow");
  CHECK(outs[0].octets == forwarded(syn()));
  CHECK(s.flows.entries.at(0).tuples == older);
  CHECK(s.counter(NodeCounter::conflicts_client_side) == 1);
}

TEST_CASE("NC with F-CC names the older session's server-side tuple: still matched by cookie and client") {
  NodeScript s(full_nat_options());
  const wire::Message ns = start(s);
  TuplePair older = ns.tuples();
  older.server_side.src.port = 4321;
  const Buffer octets = nc(older).cookie(ns.cookie.value).client_side_conflict().build();
  CHECK(kinds(s.message(holder_of(ns), kNode, octets)) == "send_own:QS");
}

TEST_CASE("NC with F-CC, on_conflict = drop: the attempt ends [spec 4.3.5-3]") {
  auto options = full_nat_options();
  options.services[0].on_conflict = engine::ConflictHandling::drop;
  NodeScript s(options);
  const wire::Message ns = start(s);
  CHECK(s.message(holder_of(ns), kNode, nc_to(ns, true)).empty());
  CHECK(s.flows.entries.empty());
  CHECK(s.engine.gauges().held_octets == 0);
}

TEST_CASE(
    "NC for a nat service: the client's port is another session's there, so the list's next server gets it [spec 4.3.5-3]") {
  NodeScript s(basic_options());
  const wire::Message first = start(s);
  const auto outs = s.message(holder_of(first), kNode, nc_to(first));
  REQUIRE(kinds(outs) == "send_flow");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->stripped == forwarded(syn()));
  CHECK(c->message.st1 == first.st1);
  CHECK(c->message.st2.src == first.st2.src);
  CHECK(c->message.st2.dst != first.st2.dst);
  REQUIRE(s.flows.entries.size() == 1);
  CHECK(s.flows.entries.at(0).tuples == c->message.tuples());
  // The client's SYN again goes where its session is now.
  const auto again = s.packet(Tap::first, syn());
  REQUIRE(kinds(again) == "send_own:NS accept");
  CHECK(datagram(again[0])->message.st2 == c->message.st2);
  // The query list ends with the second: what was placed behind it could not be recovered.
  CHECK(s.message(holder_of(c->message), kNode, nc_to(c->message)).empty());
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
  CHECK(s.flows.entries.empty());
  CHECK(s.engine.gauges().attempts == 0);
}

TEST_CASE("NC for a nat service whose NS went apart, or after a query: the next server as well") {
  SUBCASE("apart") {
    NodeScript s(basic_options());
    const auto outs =
        s.packet(Tap::first, tcp(kClient, kVip).syn().options("0101131200000000000000000000000000000000").build());
    REQUIRE(kinds(outs) == "send_own:NS accept");
    const wire::Message ns = datagram(outs[0])->message;
    const auto next = s.message(holder_of(ns), kNode, nc_to(ns));
    REQUIRE(kinds(next) == "send_own:NS send_flow");
    CHECK(datagram(next[0])->message.st2.dst != ns.st2.dst);
    CHECK(s.engine.gauges().waiting == 1);
  }
  SUBCASE("UDP after a query") {
    auto options = udp_options();
    options.services[0].backends.resize(2);
    NodeScript s(options);
    const char* vip = "198.51.100.1:53";
    const auto asked = s.packet(Tap::stray, udp(kClient, vip).payload("x").build());
    std::vector<Out> sent;
    for (std::size_t i = 1; i < asked.size(); ++i) {
      const auto q = datagram(asked[i]);
      sent = s.message(answer_from(*q), kNode, rx_to(*q));
    }
    REQUIRE(kinds(sent) == "send_flow");
    const wire::Message ns = carried_by(sent[0].octets)->message;
    const auto next = s.message(holder_of(ns), kNode, nc(ns.tuples()).protocol(Protocol::udp).cookie(ns.cookie.value).build());
    REQUIRE(kinds(next) == "send_flow");
    const auto c = carried_by(next[0].octets);
    CHECK(c->message.st2.dst != ns.st2.dst);
    CHECK(c->message.has(wire::kFlagNa));
    CHECK(c->stripped == forwarded(udp(kClient, vip).payload("x").build()));
  }
}

TEST_CASE("NC with F-CC for a nat service: the client's older session is asked for, and used [spec 4.3.5-3]") {
  NodeScript s(basic_options());
  const wire::Message ns = start(s);
  TuplePair older = ns.tuples();
  const Datagram q = only_datagram(s.message(holder_of(ns), kNode, nc_to(ns, true)), MsgType::QS);
  CHECK(s.flows.entries.empty());
  REQUIRE(kinds(s.message(answer_from(q), kNode, rs_to(q, older))) == "send_flow");
  CHECK(s.flows.entries.at(0).tuples == older);
}

TEST_CASE("a copy that is sent again has one hop less than the packet that came, however it went on at first") {
  // A client's option is taken out, so the engine has a copy of its own; the NS does not fit and goes apart.
  auto options = udp_options(engine::ExplicitFirst::any);
  NodeScript s(options);
  const char* vip = "198.51.100.1:53";
  const Buffer plain = udp(kClient, vip).payload("0123456789012345678901234567890123456789").build();
  const auto outs = [&] {
    for (int i = 1; i <= 4; ++i) s.paths.mtus[address("10.0.0." + std::to_string(i))] = 80;
    return s.packet(Tap::stray, with_inline(plain, hs(Protocol::udp).build()));
  }();
  REQUIRE(kinds(outs) == "drop send_own:NS send_flow");
  CHECK(outs[2].octets == forwarded(plain));
  const wire::Message ns = datagram(outs[1])->message;
  const auto next = s.message(holder_of(ns), kNode, nc(ns.tuples()).protocol(Protocol::udp).cookie(ns.cookie.value).build());
  REQUIRE(kinds(next) == "send_own:NS send_flow");
  CHECK(next[1].octets == forwarded(plain));
}

TEST_CASE("too many attempts: the session is made, its first packet not kept") {
  auto options = full_nat_options();
  options.limits.attempts = 1;
  NodeScript s(options);
  start(s);
  CHECK(kinds(s.packet(Tap::first, tcp("203.0.113.8:1", kVip).syn().build())) == "replace");
  CHECK(s.engine.gauges().attempts == 1);
  CHECK(s.counter(NodeCounter::limit_attempts) == 1);
}

TEST_CASE("copies of first packets leave half of the room to packets that wait for an answer") {
  auto options = full_nat_options();
  options.limits.held_octets = 4 * syn().size();
  NodeScript s(options);
  start(s);
  for (int i = 1; i <= 2; ++i) {
    const std::string client = "203.0.113.8:" + std::to_string(i);
    CHECK(kinds(s.packet(Tap::first, tcp(client, kVip).syn().options("020405b4").build())) == "replace");
  }
  CHECK(s.engine.gauges().attempts == 2);
  CHECK(s.counter(NodeCounter::limit_attempts) == 1);
  s.packet(Tap::stray, tcp("203.0.113.9:1", kVip).push().build());
  CHECK(s.engine.gauges().recoveries == 1);
  CHECK(s.engine.gauges().held_packets == 1);
}
