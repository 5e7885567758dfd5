// SPDX-License-Identifier: BSD-3-Clause
// For tests of a NodeEngine in ACT mode with nat_options(): its clients, what they send, and what it should choose.
#pragma once

#include <vector>

#include "asrp/policy/port_choice.hpp"
#include "support/node_script.hpp"

namespace asrp::test {

inline constexpr const char* kInside = "10.0.0.1:5000";  // has 203.0.113.8:2048-3071; our slice of it is 2240-2303
inline constexpr const char* kOutsideAddress = "203.0.113.8";
inline constexpr const char* kFar = "198.51.100.1:80";
inline constexpr const char* kNodeAddress = "192.0.2.10";

/// The outside endpoint of a client's flow at its `attempt`-th try, from 0.
inline Endpoint outside_of(const engine::NodeOptions& options, const Tuple& client_side, std::size_t attempt = 0) {
  const engine::NatOptions& nat = *options.nat;
  const policy::PortRanges ranges(nat.ranges);
  const policy::PortChoice choice{options.placement_key, ranges.slices(), nat.slice, nat.port_parity, options.port};
  const bool independent = client_side.protocol == Protocol::udp ? nat.endpoint_independent_udp : nat.endpoint_independent_tcp;
  const auto use = independent ? policy::PortUse::endpoint : policy::PortUse::session;
  const auto outside = policy::choose_port(*ranges.range_of(client_side.src.address), choice, use, client_side, attempt);
  REQUIRE(outside);
  return *outside;
}

/// The session that a client's first packet begins.
inline TuplePair act_session(const Tuple& client_side, std::size_t attempt = 0,
                             const engine::NodeOptions& options = nat_options()) {
  return {client_side, {outside_of(options, client_side, attempt), client_side.dst, client_side.protocol}};
}

/// A session with that outside port, whoever made it.
inline TuplePair act_session_at(const Tuple& client_side, std::uint16_t port) {
  return {client_side, {{address(kOutsideAddress), port}, client_side.dst, client_side.protocol}};
}

inline Buffer hello(Protocol protocol, std::uint32_t cookie) { return hs(protocol).cookie(cookie).build(); }

/// The messages of that type among the outputs.
inline std::vector<Datagram> datagrams(const std::vector<Out>& outs, wire::MsgType type) {
  std::vector<Datagram> found;
  for (const Out& out : outs) {
    auto d = datagram(out);
    if (d && d->message.type == type) found.push_back(std::move(*d));
  }
  return found;
}

/// The only question among the outputs.
inline Datagram only_query(const std::vector<Out>& outs) {
  auto queries = datagrams(outs, wire::MsgType::QS);
  REQUIRE(queries.size() == 1);
  return queries[0];
}

inline std::vector<Out> answer(NodeScript& s, const Datagram& query, const Buffer& octets) {
  return s.message(answer_from(query), kNodeAddress, octets);
}

}  // namespace asrp::test
