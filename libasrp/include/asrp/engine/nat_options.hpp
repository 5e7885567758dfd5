// SPDX-License-Identifier: BSD-3-Clause
// Everything that a NodeEngine can be told about ACT mode: source NAT for networks of clients (draft 3.5.4, 3.5.5), with the
// defaults and their reasons.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "asrp/base/prefix.hpp"
#include "asrp/base/time.hpp"
#include "asrp/policy/port_ranges.hpp"

namespace asrp::engine {

enum class ExplicitFirst : std::uint8_t { none, any, dns, quic };  // which UDP packets begin a session by themselves

/// From whom a mapping of a client's endpoint takes packets (RFC 4787 REQ-8). Of mappings that are endpoint-independent; of
/// others a packet always has its session.
enum class Filtering : std::uint8_t {
  address_port,  // who has been sent to, from that port
  address,       // who has been sent to
  endpoint,      // anybody
};

/// A client's first packet when all ports are taken that this gateway may use for it.
enum class OnExhausted : std::uint8_t {
  drop,
  icmp,  // "administratively prohibited": the application learns at once
};

/// A client's TCP segment in mid-stream whose session nobody has.
enum class NatNoSession : std::uint8_t {
  create,  // as conntrack's mid-stream pick-up: harmless, and what a NAT that has lost its state does by default
  reset,   // the client learns at once
  drop,
};

struct NatOptions {
  policy::PortRangeConfig ranges;  // which outside address and ports each client has. Precondition: PortRanges::check()
  /// Ranges of former configurations, newest first: their sessions are served, none are made (draft 3.6, decision 25).
  std::vector<policy::PortRangeConfig> past_ranges;
  /// This gateway's own, below `ranges.slices`; no two gateways of a cluster have the same.
  unsigned slice = 0;
  bool port_parity = false;  // RFC 4787 REQ-4: even ports stay even while there are such
  /// All sessions of a client's endpoint share an outside port (RFC 4787 REQ-1, decision 27).
  bool endpoint_independent_udp = true;
  bool endpoint_independent_tcp = false;
  Filtering filtering = Filtering::address_port;
  bool hairpin = true;  // RFC 4787 REQ-9: clients reach each other's mappings
  OnExhausted on_exhausted = OnExhausted::drop;
  NatNoSession no_session = NatNoSession::create;
  std::vector<ExplicitFirst> explicit_first = {ExplicitFirst::dns};
  /// Destinations to which clients are routed as they are.
  std::vector<Prefix> untranslated;

  /// Sessions with port 53 of UDP end when no packet has come for so long, or for half of it: each is one question and its
  /// answer, and a client that asks much would have no ports left (RFC 4787 REQ-5a).
  Duration dns_lasts = std::chrono::seconds(10);

  // HS are answered with one NS each. Beyond these rates the client's next one is.
  std::uint32_t hellos_per_client = 100;  // a second
  std::uint32_t hellos = 10'000;          // a second, of all clients

  // Clients without a holder (decision 26).
  Duration no_holder_for = std::chrono::seconds(60);  // after a port unreachable, or so many recoveries in silence:
  std::uint32_t silences = 3;
  std::uint32_t outside_queries = 10;  // a second to one client, for packets that come from outside
};

}  // namespace asrp::engine
