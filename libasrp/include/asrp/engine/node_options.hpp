// SPDX-License-Identifier: BSD-3-Clause
// Everything that a NodeEngine can be told, with the defaults and their reasons. No TOML here: asrpd-node/config fills it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "asrp/base/address.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/base/siphash.hpp"
#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/engine/nat_options.hpp"
#include "asrp/packet/carriage.hpp"
#include "asrp/policy/epoch.hpp"
#include "asrp/policy/selection_policy.hpp"

namespace asrp::engine {

enum class ForwardMode : std::uint8_t { nat, full_nat };
enum class Routing : std::uint8_t { asymmetric, symmetric };
enum class NoSession : std::uint8_t { drop, reset };         // TCP, after RX from every candidate
enum class ConflictHandling : std::uint8_t { query, drop };  // NC with F-CC (4.3.5: local policy)
enum class BackendState : std::uint8_t { joining, active, disabled };
enum class AllDown : std::uint8_t { first, drop };            // where new sessions go when checks hold every server for down
enum class HolderPresence : std::uint8_t { yes, probe, no };  // decision 8

/// What health checks and the operator say of a server. Recoveries ask it whatever that is (decision 11).
enum class ServerState : std::uint8_t {
  usable,
  drained,  // taken out by the operator: nothing new, what is there goes on
  down,     // held for down by health checks: nothing new
};

/// What has been seen of the holder at a server's address (decision 8).
enum class HolderSight : std::uint8_t {
  unknown,  // neither yet; or there is none to ask
  answers,
  gone,
};

struct Backend {
  std::string id;  // stable name: placement depends on it, never on the order or the address
  Endpoint address;
  std::uint32_t weight = 1;
  std::uint32_t priority = 0;     // for `priority`: larger is higher
  std::uint32_t degradation = 0;  // load that one more session adds, of 0xffffffff
  BackendState state = BackendState::active;
  HolderPresence holder = HolderPresence::yes;
};

struct FullNatRange {
  std::vector<IpAddress> addresses;  // routed to the cluster as a whole
  std::uint16_t first_port = 1024;
  std::uint16_t last_port = 65535;
};

struct Service {
  std::string name;
  Endpoint address;  // what clients talk to
  Protocol protocol = Protocol::tcp;
  ForwardMode forward = ForwardMode::nat;
  FullNatRange full_nat;                               // full_nat only
  ExplicitFirst explicit_first = ExplicitFirst::none;  // UDP only
  Routing routing = Routing::asymmetric;
  NoSession no_session = NoSession::drop;
  ConflictHandling on_conflict = ConflictHandling::query;
  bool server_initiated = false;  // nat: forward a backend's packet as it is after RX (decision 2)
  /// The pool that the servers are of: on_server_state() and on_load() name it. Services that share one have its servers alike.
  std::string pool;
  policy::SelectionPolicy policy = policy::SelectionPolicy::hash;  // among a flow's first `ranks`
  AllDown all_down = AllDown::first;                               // a wrong check must not stop a service
  std::size_t ranks = 2;  // servers of each epoch in the query list: d of decision 11, `choices` of the other policies
  std::vector<Backend> backends;
  std::vector<policy::Epoch> past_epochs;  // newest first; the current one follows from `backends`
};

struct CookieKeys {
  HashKey sign{};
  std::vector<HashKey> accept;  // besides `sign`: keys of a rotation in progress
};

struct NodeTiming {
  std::vector<Duration> query_repeats = {std::chrono::milliseconds(20), std::chrono::milliseconds(60),
                                         std::chrono::milliseconds(140)};  // after the first QS (decision 12)
  Duration query_limit = std::chrono::milliseconds(400);
  Duration silence_grace = std::chrono::milliseconds(50);  // decision 13
  Duration ns_interval = std::chrono::milliseconds(100);   // at most one NS per session in it (decision 7)
  int ns_tries = 10;
  Duration unprotected_interval = std::chrono::seconds(60);
  Duration attempt_copy = std::chrono::milliseconds(200);  // copy of a first packet (decision 6)
  Duration probe_interval = std::chrono::seconds(2);       // holder liveness (decision 8)
  int probe_silences = 3;
  Duration inline_retry = std::chrono::seconds(60);  // a path that swallows SYN with data is tried again after it
  Duration load_age = std::chrono::seconds(5);       // an older load report counts as none (decision 29)
  Duration owner_change = std::chrono::minutes(2);   // explicit first packets query first (decision 14)
};

struct NodeLimits {
  std::size_t held_packets = 65536;  // in all
  std::size_t held_packets_per_session = 16;
  std::size_t held_octets = 64u << 20;   // in all
  std::size_t recoveries = 32768;        // in flight
  std::size_t waiting_sessions = 65536;  // waiting for NA
  std::size_t attempts = 32768;          // copies kept for an NC
  std::size_t unprotected = 65536;       // unprotected sessions that get an NS in one unprotected_interval; others: the next
  std::uint32_t second_rounds = 5000;    // second rounds of queries per second (decision 11); beyond: as if RX came from all
  // Memories that forget, 24 octets each; powers of two.
  std::size_t recent_sessions = 1u << 16;  // for packets that were queued before their session came
  std::size_t recent_syn = 1u << 17;       // for SYN repeated unanswered: at 100 000 a second about a client's first second
  std::size_t clients = 1u << 17;          // ACT mode: what is known of a client's holder, about 100 octets each
};

struct NodeOptions {
  std::vector<IpAddress> local_ips;   // this node's own, at most one per family: source of QS, Node-Local-IP
  std::uint16_t port = kDefaultPort;  // ASRP-PORT
  packet::Marker marker;
  /// Packet mark of a SYN accepted at the raw tap whose entry has seen no reply: the mangle tap must not take it again
  /// (decision 3, Routing::symmetric).
  std::uint32_t admitted_mark = 0x08000000;
  HashKey placement_key{};
  CookieKeys cookie_keys;
  std::vector<Service> services;  // PSV mode
  std::optional<NatOptions> nat;  // ACT mode
  NodeTiming timing;
  NodeLimits limits;
  /// Several engines may work behind one address. The highest `query_bits` bits of the cookie of each QS are then
  /// `query_number`, so that the answer finds the engine that asked; the rest is random.
  unsigned query_bits = 0;
  std::uint32_t query_number = 0;
};

}  // namespace asrp::engine
