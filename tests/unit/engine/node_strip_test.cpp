// SPDX-License-Identifier: BSD-3-Clause
// Messages in packets of flows: what is taken out leaves the packet that its sender's stack made.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";

}  // namespace

TEST_CASE("a client's SYN with a message: the message goes, the node's own NS comes (decision 9)") {
  NodeScript s(basic_options());
  const Buffer syn = tcp(kClient, kVip).syn().seq(77).options("020405b4").build();
  const TuplePair forged{tcp_tuple(kClient, kVip), tcp_tuple(kClient, "10.0.0.1:8080")};
  const auto outs = s.packet(Tap::first, with_inline(syn, ns(forged).cookie(1).build()));
  REQUIRE(kinds(outs) == "replace");
  const auto c = carried_by(outs[0].octets);
  REQUIRE(c);
  CHECK(c->stripped == syn);
  CHECK(c->message.cookie == policy::keyed_cookie(key_of(0x22), c->message.tuples()));
  CHECK(s.counter(NodeCounter::discarded_client) == 1);
  CHECK(s.counter(NodeCounter::received_ns) == 1);
}

TEST_CASE("a client's SYN with a message towards a server without holder leaves as it was without it") {
  auto options = basic_options();
  for (auto& b : options.services[0].backends) b.holder = engine::HolderPresence::no;
  NodeScript s(options);
  const Buffer syn = tcp(kClient, kVip).syn().options("020405b4").build();
  const auto outs = s.packet(Tap::first, with_inline(syn, hs(Protocol::tcp).build()));
  REQUIRE(kinds(outs) == "replace");
  CHECK(outs[0].octets == syn);
}

TEST_CASE("every payload length and family: what is stripped is what was sent [spec 4.2.1-1, 4.2.1-2]") {
  NodeScript s(basic_options());
  for (std::size_t size = 1; size <= 9; ++size) {
    for (const bool six : {false, true}) {
      const std::string_view server = six ? "[2001:db8:2::2]:8080" : "10.0.0.2:8080";
      const std::string_view client = six ? "[2001:db8::7]:5000" : "203.0.113.7:5000";
      const std::string_view vip = six ? "[2001:db8:1::1]:80" : kVip;
      const TuplePair pair{tcp_tuple(client, vip), tcp_tuple(client, server)};
      const Buffer reply = tcp(server, client).push().data(size).build();
      const auto outs = s.packet(Tap::known, with_inline(reply, ps_of(pair, key_of(0x22))));
      REQUIRE(kinds(outs) == "replace");
      CHECK(outs[0].octets == reply);
    }
  }
  CHECK(s.counter(NodeCounter::packets_stripped) == 18);
}

TEST_CASE("malformed options and wrong option checksums: as if there were none, and counted") {
  NodeScript s(udp_options());
  const Buffer plain = udp("10.0.0.2:5353", "203.0.113.7:5000").payload("x").build();
  Buffer bad_ocs = with_inline(plain, hs(Protocol::udp).build());
  bad_ocs.back() ^= 1;
  CHECK(kinds(s.packet(Tap::known, bad_ocs)) == "accept");
  CHECK(s.counter(NodeCounter::discarded_ocs) == 1);
  NodeScript t(basic_options());
  CHECK(kinds(t.packet(Tap::known, tcp("10.0.0.2:8080", kClient).options("fd00 4153").payload("x").build())) == "accept");
  CHECK(t.counter(NodeCounter::discarded_option) == 1);
}
