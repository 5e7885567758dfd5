// SPDX-License-Identifier: BSD-3-Clause
// The 5-tuple, and the pair of tuples that is a session.
#pragma once

#include <cstdint>
#include <string>

#include "asrp/base/address.hpp"

namespace asrp {

/// IP protocol number. Only the named ones are served; others are carried and printed.
enum class Protocol : std::uint8_t { icmp = 1, tcp = 6, udp = 17, icmpv6 = 58 };

/// "tcp", "udp", or the number.
std::string to_string(Protocol protocol);

/// A 5-tuple as seen in one packet: who sends, to whom.
struct Tuple {
  Endpoint src;
  Endpoint dst;
  Protocol protocol = Protocol::tcp;

  [[nodiscard]] Tuple reversed() const { return {dst, src, protocol}; }
  [[nodiscard]] Family family() const { return src.address.family(); }
  /// "tcp 192.0.2.1:1000>198.51.100.1:80".
  [[nodiscard]] std::string to_string() const;

  friend bool operator==(const Tuple&, const Tuple&) = default;
};

/// A session's two tuples (draft 4.1.2): ST1 `client_side` as the client sends to the node, ST2 `server_side` as
/// the node sends to the server. Replies travel on the reversed tuples.
struct TuplePair {
  Tuple client_side;
  Tuple server_side;

  friend bool operator==(const TuplePair&, const TuplePair&) = default;
};

/// The same for a tuple and its reverse: the one with the smaller source first. Key of tables of flows.
Tuple normalised(const Tuple& tuple);

/// Hash for local tables. `seed` is secret and random per process: the tuples are an attacker's to choose.
/// Not stable between nodes; what nodes must agree on uses policy/keyed_hash.hpp.
std::uint64_t table_hash(const Tuple& tuple, std::uint64_t seed);

}  // namespace asrp
