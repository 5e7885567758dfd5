// SPDX-License-Identifier: BSD-3-Clause
// A HolderLab whose host is a client behind gateways, and what such tests have in common.
#pragma once

#include <optional>
#include <vector>

#include "support/holder_lab.hpp"

namespace asrp::test {

inline engine::HolderOptions act_options() {
  engine::HolderOptions options = HolderLab::default_options();
  options.nodes = {{address("192.0.2.0"), 25}};
  options.act.enabled = true;
  options.act.gateways = {{address("192.0.2.128"), 25}, {address("2001:db8:0:3::"), 64}};
  return options;
}

inline constexpr std::string_view kGateway = "192.0.2.129:51200";

/// A session of this host as client: its own port, and the port that a gateway gives it.
inline TuplePair act_session(std::string_view own = "10.0.0.1:40000", std::string_view outside = "203.0.113.99:7000",
                             Protocol protocol = Protocol::tcp) {
  return {{endpoint(own), endpoint("198.51.100.9:443"), protocol}, {endpoint(outside), endpoint("198.51.100.9:443"), protocol}};
}
inline TuplePair act_udp_session() { return act_session("10.0.0.1:40000", "203.0.113.99:7000", Protocol::udp); }

inline Buffer client_syn(const Tuple& flow, std::uint32_t sequence = 1000) {
  return tcp(flow).syn().seq(sequence).options("020405b4").build();
}
inline Buffer client_data(const Tuple& flow) { return tcp(flow).flags(0x18).payload("request").build(); }
inline Buffer client_ack(const Tuple& flow) { return tcp(flow).flags(0x10).build(); }
inline Buffer client_datagram(const Tuple& flow) { return udp(flow).payload("question").build(); }

/// The cookie of the HS among the outputs of a burst, if there is one.
inline std::optional<Cookie> hello_in(const std::vector<HolderOut>& outs) {
  for (const HolderOut& out : outs) {
    const bool may_carry = out.kind == OutputKind::send_after || out.kind == OutputKind::replace;
    if (may_carry && packet::locate(out.view(), {}).found() && out.carried().type == MsgType::HS) return out.carried().cookie;
  }
  return std::nullopt;
}

/// The NS of a gateway.
inline MessageBuilder gateway_ns(const TuplePair& session, Cookie cookie) {
  return ns(session).cookie(cookie.value).node("192.0.2.129");
}
inline std::vector<HolderOut> answer(HolderLab& lab, const TuplePair& session, Cookie cookie) {
  return lab.message(gateway_ns(session, cookie).build(), kGateway).burst();
}

/// The first packet of a session leaves, its HS is answered, and its backup is stored.
inline void begin_act(HolderLab& lab, const TuplePair& session, std::uint32_t sequence = 1000) {
  const bool is_tcp = session.client_side.protocol == Protocol::tcp;
  const Buffer first = is_tcp ? client_syn(session.client_side, sequence) : client_datagram(session.client_side);
  const auto cookie = hello_in(lab.out(first).burst());
  REQUIRE(cookie);
  const std::size_t before = lab.engine->gauges().act_backups;
  CHECK(answer(lab, session, *cookie).empty());
  REQUIRE(lab.engine->gauges().act_backups == before + 1);
}

}  // namespace asrp::test
