// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_send.hpp"

#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using packet::Carriage;
using wire::MsgType;

TEST_CASE("names of messages with their carriage") {
  CHECK(engine::message_detail(MsgType::NS, Carriage::inline_tcp) == "NS inline-tcp");
  CHECK(engine::message_detail(MsgType::PS, Carriage::separate_udp) == "PS separate-udp");
  CHECK(engine::message_detail(MsgType::NC, Carriage::standalone) == "NC standalone");
  for (int type = 0; type < wire::kMsgTypeCount; ++type) {
    for (int carriage = 0; carriage <= static_cast<int>(Carriage::standalone); ++carriage) {
      const auto detail = engine::message_detail(static_cast<MsgType>(type), static_cast<Carriage>(carriage));
      CHECK(detail.substr(0, 2) == wire::to_string(static_cast<MsgType>(type)));
      CHECK(detail.substr(3) == packet::to_string(static_cast<Carriage>(carriage)));
    }
  }
}

TEST_CASE("standalone messages go to the configured port, with right checksums, for both families") {
  auto options = basic_options();
  options.port = 40404;
  NodeScript s(options);
  for (const Buffer& packet : {tcp("203.0.113.7:1", "198.51.100.1:80").push().payload("x").build(),
                               tcp("[2001:db8::7]:1", "[2001:db8:1::1]:80").push().payload("x").build()}) {
    const auto outs = s.packet(Tap::stray, packet);
    REQUIRE(kinds(outs) == "drop send_own:QS send_own:QS");
    const auto view = packet::PacketView::parse(outs[1].octets);
    CHECK(view->tuple().dst.port == 40404);
    const Octets transport = view->octets().subspan(view->transport_offset());
    CHECK(packet::transport_checksum(view->tuple().src.address, view->tuple().dst.address, Protocol::udp, transport) ==
          load_u16(transport, 6));
  }
}

TEST_CASE("counters of what is no message") {
  CHECK(engine::decode_reason(wire::DecodeError::length) == NodeCounter::discarded_length);
  CHECK(engine::decode_reason(wire::DecodeError::truncated) == NodeCounter::discarded_truncated);
}

TEST_CASE("events tell what was sent, to whom and about what") {
  NodeScript s(basic_options());
  s.packet(Tap::first, tcp("203.0.113.7:1", "198.51.100.1:80").syn().build());
  s.packet(Tap::stray, tcp("203.0.113.7:2", "198.51.100.1:80").push().payload("x").build());
  std::string text;
  for (const engine::Event& e : s.events.all) {
    if (e.kind == engine::EventKind::message_sent) text += std::string(e.detail) + ";";
  }
  CHECK(text == "NS inline-tcp;QS standalone;QS standalone;");
}
