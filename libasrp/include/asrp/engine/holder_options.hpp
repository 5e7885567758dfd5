// SPDX-License-Identifier: BSD-3-Clause
// Everything that a HolderEngine can be told, with the defaults and their reasons.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/base/prefix.hpp"
#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/packet/carriage.hpp"

namespace asrp::engine {

enum class Push : std::uint8_t { automatic, always, never };  // PS, decision 22
enum class OnFull : std::uint8_t { pass, drop };              // decision 15

/// A local port of an application behind the cluster.
struct LocalService {
  Protocol protocol = Protocol::tcp;
  std::uint16_t port = 0;
  Push push = Push::automatic;
  Duration udp_linger = std::chrono::seconds(300);  // after conntrack's DESTROY (decision 19); 10 s suits DNS
};

/// Traffic that is never greeted: to this port, or from it.
struct GreetingSkip {
  Protocol protocol = Protocol::udp;
  std::uint16_t port = 0;
  friend bool operator==(const GreetingSkip&, const GreetingSkip&) = default;
};

/// Sessions in which this host is the client (ACT mode).
struct ActOptions {
  bool enabled = false;
  std::vector<Prefix> gateways;      // who may send standalone messages about them
  std::vector<Prefix> destinations;  // sessions to these get a backup; empty: to all
  std::vector<GreetingSkip> skip{{Protocol::udp, 53}};
  std::uint32_t hello_rate = 1000;                  // HS a second
  Duration udp_linger = std::chrono::seconds(300);  // as that of a LocalService
};

struct HolderOptions {
  std::vector<IpAddress> local_ips;  // empty: every address of the host; the driver tells by on_local_addresses()
  std::uint16_t port = kDefaultPort;
  packet::Marker marker;
  std::vector<Prefix> nodes;  // who may send standalone messages
  std::vector<LocalService> services;
  ActOptions act;
  OnFull on_full = OnFull::pass;
  std::size_t max_backups = 4'000'000;
  std::size_t max_embryonic = 262'144;  // bounded part of the store (decision 18)
  Duration embryonic_life = std::chrono::seconds(75);
  Duration time_wait_recheck = std::chrono::seconds(60);
  /// First look for the session of a new backup; until then a TCP handshake may be under way without a socket (SYN cookies),
  /// and the backup yields to no other client's.
  Duration first_look = std::chrono::seconds(1);
  /// After a notice that does not name its session all backups are looked at, but not more often.
  Duration reconcile_interval = std::chrono::seconds(30);
};

}  // namespace asrp::engine
