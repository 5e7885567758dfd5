// SPDX-License-Identifier: BSD-3-Clause
// New sessions by TCP SYN (Tap::first).
#include "asrp/packet/surgery.hpp"
#include "asrp/policy/cookie_policy.hpp"
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
using engine::FlowMark;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";

Buffer syn(std::uint32_t seq = 1000) {
  return tcp(kClient, kVip).syn().seq(seq).options("020405b40402080a0000000100000000010303 07").build();
}

struct Carried {
  wire::Message message;
  Buffer stripped;
};

/// The message inside a packet, and the packet without it.
Carried carried_by(const Out& out) {
  const auto view = packet::PacketView::parse(out.octets);
  REQUIRE(view);
  const packet::Located located = packet::locate(*view, packet::Marker{});
  REQUIRE(located.found());
  const auto decoded = wire::decode_prefix(located.room(*view));
  REQUIRE(decoded);
  Carried carried{decoded->message, {}};
  packet::strip(*view, located, decoded->size, carried.stripped);
  return carried;
}

}  // namespace

TEST_CASE("a SYN makes a session, and its packet goes on with the NS inside") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::first, syn());
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].mark == 0);
  const Carried c = carried_by(outs[0]);
  CHECK(c.stripped == syn());
  CHECK(c.message.type == wire::MsgType::NS);
  CHECK(c.message.flags == 0);
  CHECK(c.message.node_local_ip == address("192.0.2.10"));
  CHECK(c.message.st1 == tcp_tuple(kClient, kVip));
  CHECK(c.message.st2.src == endpoint(kClient));
  CHECK(c.message.cookie == policy::keyed_cookie(key_of(0x22), c.message.tuples()));
  REQUIRE(s.flows.installed.size() == 1);
  CHECK(s.flows.installed[0].tuples == c.message.tuples());
  CHECK(s.flows.installed[0].mark == FlowMark::none);
  CHECK(s.flows.installed[0].one_way_suffices);
  CHECK_FALSE(s.flows.installed[0].proven);
  CHECK(s.counter(NodeCounter::sessions_created) == 1);
  CHECK(s.counter(NodeCounter::sent_ns_inline_tcp) == 1);
  CHECK(s.events.count(EventKind::session_created) == 1);
  CHECK(s.advance(seconds(10)).empty());
}
