// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include "asrp/engine/event.hpp"
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

TEST_CASE("events name type and carriage of a message as asrpdump does") {
  const TuplePair over_tcp = full_nat_session();
  const TuplePair over_udp = full_nat_session("203.0.113.7:1", "10.9.0.1:3000", Protocol::udp);
  HolderLab lab;
  lab.in(syn_with(over_tcp, ns_of(over_tcp)));
  lab.in(separate_with(syn_of(over_tcp), ns_of(over_tcp).build()));
  lab.in(separate_with(tcp(over_tcp.server_side).data(3).build(), ns_of(over_tcp).build()));
  lab.in(with_message(datagram_of(over_udp), ns_of(over_udp).build()));
  lab.in(separate_with(datagram_of(over_udp), ns_of(over_udp).build()));
  lab.message(qs(over_udp.client_side).build());
  lab.burst();
  std::vector<std::string_view> received;
  for (const auto& event : lab.log.events) {
    if (event.kind == engine::EventKind::message_received) received.push_back(event.detail);
  }
  // A separate copy of a SYN still has the SYN: it goes to the stack, so it counts as inline.
  const std::vector<std::string_view> expected{"NS inline-tcp", "NS inline-tcp",   "NS separate-tcp",
                                               "NS inline-udp", "NS separate-udp", "QS standalone"};
  CHECK(received == expected);
}

}  // namespace
}  // namespace asrp::test
