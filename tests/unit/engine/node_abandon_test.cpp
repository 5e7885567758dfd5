// SPDX-License-Identifier: BSD-3-Clause
// Recoveries that find nothing: RX from all is one thing, silence another (decision 12).
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using wire::MsgType;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

Buffer segment(std::uint8_t flags = 0x18) {
  return tcp(kClient, kVip).flags(flags).seq(5000).ack(7000).payload("data").build();
}
Buffer datagram_of(std::string_view text) { return udp("203.0.113.7:5000", "198.51.100.1:53").payload(text).build(); }

/// Answers RX to every query, also to those that follow; returns what else came out.
std::vector<Out> rx_to_all(NodeScript& s, std::vector<Out> outs) {
  std::vector<Out> rest;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const auto d = datagram(outs[i]);
    if (!d || d->message.type != MsgType::QS) {
      rest.push_back(outs[i]);
      continue;
    }
    for (Out& out : s.message(answer_from(*d), kNode, rx_to(*d))) outs.push_back(std::move(out));
  }
  return rest;
}

engine::NodeOptions one_server(engine::NodeOptions options) {
  for (auto& service : options.services) service.backends.resize(1);
  return options;
}

}  // namespace

TEST_CASE("TCP, RX from all, no_session = drop: nothing goes out [spec 4.3.8-1]") {
  NodeScript s(basic_options());
  CHECK(kinds(rx_to_all(s, s.packet(Tap::stray, segment()))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_session) == 1);
  CHECK(s.flows.installed.empty());
}

TEST_CASE("TCP, RX from all, no_session = reset: one RST to the client") {
  auto options = basic_options();
  options.services[0].no_session = engine::NoSession::reset;
  NodeScript s(options);
  auto outs = s.packet(Tap::stray, segment());
  for (Out& out : s.packet(Tap::stray, segment())) outs.push_back(std::move(out));
  const auto rest = rx_to_all(s, outs);
  REQUIRE(kinds(rest) == "drop drop send_own");
  const auto view = packet::PacketView::parse(rest[2].octets);
  REQUIRE(view);
  CHECK(view->tuple() == tcp_tuple(kVip, kClient));
  CHECK((view->tcp_flags() & packet::kTcpRst) != 0);
  CHECK(view->tcp_sequence() == 7000);
  CHECK(s.counter(NodeCounter::resets_sent) == 1);
}

TEST_CASE("no RST after silence, and none for an RST") {
  auto options = basic_options();
  options.services[0].no_session = engine::NoSession::reset;
  SUBCASE("silence") {
    NodeScript s(options);
    s.packet(Tap::stray, segment());
    for (const Out& out : s.advance(seconds(1))) CHECK(datagram(out)->message.type == MsgType::QS);
    CHECK(s.counter(NodeCounter::recoveries_silence) == 1);
  }
  SUBCASE("an RST") {
    NodeScript s(options);
    CHECK(kinds(rx_to_all(s, s.packet(Tap::stray, segment(packet::kTcpRst)))) == "drop");
  }
}

TEST_CASE("one silent candidate among RX is silence, not \"not found\"") {
  auto options = basic_options();
  options.services[0].no_session = engine::NoSession::reset;
  NodeScript s(options);
  const auto outs = s.packet(Tap::stray, segment());
  const auto d = datagram(outs[1]);
  CHECK(s.message(answer_from(*d), kNode, rx_to(*d)).empty());
  s.advance(seconds(1));
  CHECK(s.counter(NodeCounter::recoveries_no_session) == 0);
  CHECK(s.counter(NodeCounter::recoveries_silence) == 1);
  CHECK(s.counter(NodeCounter::resets_sent) == 0);
}

TEST_CASE("a server's packet after RX is dropped [spec 3.5.2-2]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, tcp("10.0.0.2:8080", kClient).push().payload("x").build());
  REQUIRE(kinds(outs) == "drop send_own:QS");
  CHECK(datagram(outs[1])->to == endpoint("10.0.0.2:51200"));
  CHECK(kinds(rx_to_all(s, outs)) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_session) == 1);
}

TEST_CASE("server_initiated: a server's packet after RX goes on as it is, as a packet of ours") {
  auto options = basic_options();
  options.services[0].server_initiated = true;
  NodeScript s(options);
  const Buffer packet = tcp("10.0.0.2:8080", kClient).push().payload("x").build();
  const auto rest = rx_to_all(s, s.packet(Tap::stray, packet));
  REQUIRE(kinds(rest) == "drop send_own");
  CHECK(rest[1].octets == forwarded(packet));
  CHECK(s.counter(NodeCounter::packets_forwarded) == 1);
  CHECK(s.engine.gauges().held_octets == 0);
}

TEST_CASE("UDP: the third recovery in a row that ends in silence creates") {
  NodeScript s(one_server(udp_options()));
  for (int i = 1; i <= 3; ++i) {
    CHECK(s.flows.installed.empty());
    CHECK(kinds(s.packet(Tap::stray, datagram_of("x"))) == "drop send_own:QS");
    const auto outs = s.advance(milliseconds(400));
    if (i < 3) {
      CHECK(kinds(outs) == "send_own:QS send_own:QS send_own:QS");
    } else {
      CHECK(kinds(outs) == "send_own:QS send_own:QS send_own:QS send_flow");
    }
  }
  CHECK(s.flows.installed.size() == 1);
  CHECK(s.counter(NodeCounter::recoveries_gave_up_silence) == 1);
}

TEST_CASE("UDP: silence of holders that are gone counts as RX") {
  NodeScript s(one_server(udp_options()));
  SUBCASE("gone before") {
    s.port_unreachable("10.0.0.1");
    CHECK(kinds(s.packet(Tap::stray, datagram_of("x"))) == "drop send_own:QS send_flow");
  }
  SUBCASE("gone meanwhile") {
    CHECK(kinds(s.packet(Tap::stray, datagram_of("x"))) == "drop send_own:QS");
    CHECK(kinds(s.port_unreachable("10.0.0.1")) == "send_flow");
  }
  CHECK(s.flows.installed.size() == 1);
  CHECK(s.flows.installed.at(0).mark == engine::FlowMark::unprotected);
}

TEST_CASE("TCP: silence of holders that are gone is still silence") {
  NodeScript s(one_server(basic_options()));
  s.port_unreachable("10.0.0.1");
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop send_own:QS");
  s.advance(milliseconds(400));
  CHECK(s.counter(NodeCounter::recoveries_silence) == 1);
}

TEST_CASE("UDP under table pressure: nothing is created") {
  NodeScript s(one_server(udp_options()));
  s.engine.set_table_pressure(true);
  CHECK(kinds(rx_to_all(s, s.packet(Tap::stray, datagram_of("x")))) == "drop");
  CHECK(s.counter(NodeCounter::drops_refused) == 1);
  CHECK(s.engine.gauges().held_octets == 0);
}

TEST_CASE("servers without holders are not asked; nobody to ask means nothing is found") {
  auto options = basic_options();
  for (auto& b : options.services[0].backends) b.holder = engine::HolderPresence::no;
  NodeScript s(options);
  CHECK(kinds(s.packet(Tap::stray, segment())) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_session) == 1);
}
