// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

/// A pool of s1 that s2 has just joined.
engine::NodeOptions joined(engine::NodeOptions options) {
  policy::Epoch former;
  former.key = options.placement_key;
  former.members = {{"s1", 1}};
  for (engine::Service& service : options.services) {
    service.backends.resize(2);
    service.past_epochs = {former};
  }
  return options;
}

Buffer syn(std::uint16_t port, std::uint32_t sequence = 1000) {
  return tcp({address("203.0.113.7"), port}, endpoint("198.51.100.1:80")).seq(sequence).syn().build();
}

/// A client's port whose region s1 had before and s2 has now.
std::uint16_t moved_port() {
  NodeScript s(joined(basic_options()));
  std::uint16_t port = 1000;
  while (kinds(s.packet(Tap::first, syn(port))) == "replace") ++port;
  return port;
}

TuplePair session_of(std::uint16_t port, std::string_view outside, std::string_view server) {
  const Tuple client{{address("203.0.113.7"), port}, endpoint("198.51.100.1:80"), Protocol::tcp};
  Tuple inside{client.src, endpoint(server), Protocol::tcp};
  if (!outside.empty()) inside.src = endpoint(outside);
  return {client, inside};
}

/// The only packet among `outs`, which goes out as a flow's, with its NS.
Carried only_carried(const std::vector<Out>& outs) {
  REQUIRE(kinds(outs) == "send_flow");
  const auto carried = carried_by(outs[0].octets);
  REQUIRE(carried);
  CHECK(carried->message.type == wire::MsgType::NS);
  return *carried;
}

}  // namespace

TEST_CASE("where a region changed its owner a moment ago a SYN asks the former one, and nobody else (decision 14)") {
  NodeScript s(joined(basic_options()));
  int asked = 0;
  for (std::uint16_t port = 1000; port < 1040; ++port) {
    const auto outs = s.packet(Tap::first, syn(port));
    if (kinds(outs) == "replace") {
      CHECK(s.flows.installed.back().tuples.server_side.dst.address == address("10.0.0.1"));
      continue;
    }
    REQUIRE(kinds(outs) == "send_own:QS drop");
    CHECK(datagram(outs[0])->to == endpoint("10.0.0.1:51200"));
    ++asked;
  }
  CHECK(asked > 10);
  CHECK(asked < 30);
  s.advance(seconds(121));
  CHECK(kinds(s.packet(Tap::first, syn(moved_port(), 2))) == "replace");
}

TEST_CASE("a connection that is opening at the former owner goes on there, with an NS of its mapping (decision 14)") {
  const std::uint16_t port = moved_port();
  for (const bool full_nat : {false, true}) {
    NodeScript s(joined(full_nat ? full_nat_options() : basic_options()));
    const TuplePair session = session_of(port, full_nat ? "10.1.0.1:4321" : "", "10.0.0.1:8080");
    const auto outs = s.packet(Tap::first, syn(port));
    REQUIRE(kinds(outs) == "send_own:QS drop");
    // The client's next try, meanwhile.
    CHECK(kinds(s.packet(Tap::first, syn(port))) == "drop");
    const auto query = datagram(outs[0]);
    const auto after = s.message(answer_from(*query), "192.0.2.10", rs_to(*query, session));
    REQUIRE(kinds(after) == "send_flow send_flow");
    const auto carried = carried_by(after[0].octets);
    REQUIRE(carried);
    CHECK(carried->message.tuples() == session);
    CHECK_FALSE(carried->message.has(wire::kFlagNa));
    CHECK(carried->stripped == forwarded(syn(port)));
    CHECK(after[1].octets == forwarded(syn(port)));
    REQUIRE(s.flows.installed.size() == 1);
    CHECK(s.flows.installed[0].tuples == session);
  }
}

TEST_CASE("a SYN of which the former owner knows nothing begins a session as everywhere else (decision 14)") {
  const std::uint16_t port = moved_port();
  for (const auto routing : {engine::Routing::asymmetric, engine::Routing::symmetric}) {
    auto options = joined(basic_options());
    options.services[0].routing = routing;
    NodeScript s(options);
    const auto outs = s.packet(Tap::first, syn(port));
    const auto query = datagram(outs[0]);
    const Carried carried = only_carried(s.message(answer_from(*query), "192.0.2.10", rx_to(*query)));
    CHECK(carried.message.tuples() == session_of(port, "", "10.0.0.2:8080"));
    CHECK_FALSE(carried.message.has(wire::kFlagNa));
    CHECK(carried.stripped == forwarded(syn(port)));
    REQUIRE(s.flows.installed.size() == 1);
    CHECK(s.flows.installed[0].mark == engine::FlowMark::none);
    CHECK(s.flows.installed[0].one_way_suffices == (routing == engine::Routing::asymmetric));
  }
}

TEST_CASE("a SYN isn't lost to a former owner that says nothing (decision 14)") {
  const std::uint16_t port = moved_port();
  NodeScript s(joined(basic_options()));
  s.packet(Tap::first, syn(port));
  const auto outs = s.advance(seconds(1));
  REQUIRE(!outs.empty());
  CHECK(outs.back().kind == OutputKind::send_flow);
  const auto carried = carried_by(outs.back().octets);
  REQUIRE(carried);
  CHECK(carried->message.tuples() == session_of(port, "", "10.0.0.2:8080"));
}

TEST_CASE("a SYN begins a session at once where nobody can be asked: no holder, none that answers, no room (decision 14)") {
  const std::uint16_t port = moved_port();
  SUBCASE("no holder") {
    auto options = joined(basic_options());
    options.services[0].backends[0].holder = engine::HolderPresence::no;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::first, syn(port))) == "replace");
  }
  SUBCASE("gone") {
    NodeScript s(joined(basic_options()));
    s.port_unreachable("10.0.0.1");
    CHECK(kinds(s.packet(Tap::first, syn(port))) == "replace");
  }
  SUBCASE("no room for another recovery") {
    auto options = joined(basic_options());
    options.limits.recoveries = 0;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::first, syn(port))) == "replace");
    CHECK(s.counter(NodeCounter::drops_recoveries_limit) == 0);
  }
  SUBCASE("no room for a packet") {
    auto options = joined(basic_options());
    options.limits.held_packets = 0;
    NodeScript s(options);
    CHECK(kinds(s.packet(Tap::first, syn(port))) == "replace");
    CHECK(s.engine.gauges().recoveries == 0);
  }
}

TEST_CASE(
    "a former owner that checks hold for down is asked as long as its holder answers: the checks may be wrong (decision 6)") {
  auto options = joined(basic_options());
  NodeScript s(options);
  REQUIRE(s.engine.on_server_state(s.now, options.services[0].pool, "s1", engine::ServerState::down));
  CHECK(kinds(s.packet(Tap::first, syn(moved_port()))) == "send_own:QS drop");
}

TEST_CASE("a session that the node has keeps its mapping, whatever the former owner says (decisions 6, 13, 14)") {
  const std::uint16_t port = moved_port();
  const TuplePair here = session_of(port, "", "10.0.0.2:8080");
  for (const bool knows : {false, true}) {
    NodeScript s(joined(basic_options()));
    s.flows.add(here);
    const auto query = datagram(s.packet(Tap::first, syn(port))[0]);
    const TuplePair there = session_of(port, "", "10.0.0.1:8080");
    const Carried carried =
        only_carried(s.message(answer_from(*query), "192.0.2.10", knows ? rs_to(*query, there) : rx_to(*query)));
    CHECK(carried.message.tuples() == here);
    CHECK(carried.message.cookie == policy::keyed_cookie(key_of(0x22), here));
    CHECK(s.flows.entries.size() == 1);
    CHECK(s.counter(NodeCounter::sessions_restored_rs) == 0);
    CHECK(s.counter(NodeCounter::drops_conflict) == 0);
  }
}

TEST_CASE("an entry of a session that has ended gives way to the one that the former owner tells of (decision 14)") {
  const std::uint16_t port = moved_port();
  NodeScript s(joined(basic_options()));
  s.flows.add(session_of(port, "", "10.0.0.2:8080"), engine::FlowMark::none, true);
  const TuplePair there = session_of(port, "", "10.0.0.1:8080");
  const auto query = datagram(s.packet(Tap::first, syn(port))[0]);
  const Carried carried = only_carried(s.message(answer_from(*query), "192.0.2.10", rs_to(*query, there)));
  CHECK(carried.message.tuples() == there);
  CHECK(s.counter(NodeCounter::sessions_restored_rs) == 1);
}

TEST_CASE(
    "it is made anew also where the former owner tells of the same mapping: the kernel would lose the SYN with it (decision "
    "6)") {
  const std::uint16_t port = moved_port();
  NodeScript s(joined(basic_options()));
  const TuplePair there = session_of(port, "", "10.0.0.1:8080");
  s.flows.add(there, engine::FlowMark::none, true);
  const auto query = datagram(s.packet(Tap::first, syn(port))[0]);
  const Carried carried = only_carried(s.message(answer_from(*query), "192.0.2.10", rs_to(*query, there)));
  CHECK(carried.message.tuples() == there);
  REQUIRE(s.flows.entry(there.client_side) != nullptr);
  CHECK_FALSE(s.flows.entry(there.client_side)->closing);
  CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
}

TEST_CASE("a full table refuses a SYN after the question only if it has no entry (decision 5)") {
  const std::uint16_t port = moved_port();
  for (const bool is_here : {false, true}) {
    NodeScript s(joined(basic_options()));
    if (is_here) s.flows.add(session_of(port, "", "10.0.0.2:8080"));
    const auto query = datagram(s.packet(Tap::first, syn(port))[0]);
    s.engine.set_table_pressure(true);
    CHECK(s.message(answer_from(*query), "192.0.2.10", rx_to(*query)).empty() == !is_here);
    CHECK(s.counter(NodeCounter::drops_refused) == (is_here ? 0 : 1));
  }
}

TEST_CASE("a SYN that an RS moved learns of its path as every other one (draft 3.4.1)") {
  const std::uint16_t port = moved_port();
  NodeScript s(joined(basic_options()));
  const TuplePair session = session_of(port, "", "10.0.0.1:8080");
  const auto ask = [&] {
    const auto query = datagram(s.packet(Tap::first, syn(port))[0]);
    return kinds(s.message(answer_from(*query), "192.0.2.10", rs_to(*query, session)));
  };
  CHECK(ask() == "send_flow");
  s.flows.remove(session.client_side);
  CHECK(ask() == "send_own:NS send_flow");
  CHECK(s.counter(NodeCounter::inline_suspected) == 1);
}

TEST_CASE("SYNs ask as long as half of the recoveries are left to packets of sessions") {
  const std::uint16_t port = moved_port();
  auto options = joined(basic_options());
  options.limits.recoveries = 4;
  NodeScript s(options);
  for (std::uint16_t i = 0; i < 2; ++i) {
    const Endpoint client{address("203.0.113.9"), static_cast<std::uint16_t>(2000 + i)};
    s.packet(Tap::stray, tcp(client, endpoint("198.51.100.1:80")).seq(5).payload("x").build());
    CHECK(s.engine.gauges().recoveries == i + 1u);
  }
  CHECK(kinds(s.packet(Tap::first, syn(port))) == "replace");
}
