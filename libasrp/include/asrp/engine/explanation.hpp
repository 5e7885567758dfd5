// SPDX-License-Identifier: BSD-3-Clause
// What a NodeEngine would do with a packet, and why: plain data for `asrpctl explain`. NodeEngine::explain() fills it by the
// engine's own decisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/node_options.hpp"

namespace asrp::engine {

/// What becomes of a packet.
enum class Step : std::uint8_t {
  no_service,        // belongs to nothing here: dropped
  known,             // has a session: the kernel translates it, the engine is not asked
  again,             // a first packet whose session is there and is used
  create,            // begins a session
  join_install,      // its session is being made in this burst
  join_recovery,     // its session is being asked for: held
  send_behind,       // its session was made a moment ago: sent on behind it
  ask_former_owner,  // begins a session unless the former owner of its hash region has one
  ask_candidates,    // held; the candidates are asked for its session
  ask_sender,        // of a server: held, and that server is asked
  refuse,            // would begin a session, but the table is nearly full: dropped
  no_server,         // would begin a session, but no server can have it: dropped
  no_local_address,  // nobody can be asked: this node has no address of the family
  too_many,          // nobody can be asked: as many recoveries are under way as are allowed
  // ACT mode:
  ask_client,      // held, and the client is asked
  exhausted,       // would begin a session, but all ports of the client are taken that this gateway may use
  no_mapping,      // goes to the outside endpoint of a client where nothing is mapped: dropped
  reset,           // in mid-stream, and nobody can be asked: answered with RST
  drop_midstream,  // the same, dropped
  outside_syn,     // begins a connection from outside: dropped
  no_holder,       // from outside, and its client has no holder to ask: dropped
  over_rate,       // from outside, and its client is asked as often as it may be: dropped
};
/// "create", "ask-candidates" ...
std::string_view to_string(Step step);
/// The same as a sentence for people.
std::string_view sentence(Step step);

struct Explanation {
  /// A server among those that a new session of the flow may go to, or that are asked for an old one.
  struct Candidate {
    std::string server;
    Endpoint address;
    std::uint32_t weight = 1;
    std::uint32_t priority = 0;
    BackendState configured = BackendState::active;
    ServerState state = ServerState::usable;
    HolderPresence holder = HolderPresence::yes;
    bool holder_answered = false;  // at least once
    bool holder_gone = false;
    std::optional<std::uint32_t> load;  // as reported, if the report counts
    std::size_t epoch = 0;              // 0: the pool of today, 1 ...: former ones, newest first
    bool coming = false;                // ranked once the servers that are joining are active; another node may do so already
    std::size_t rank = 0;               // in that epoch, from 0
    int round = 0;                      // of the queries: 1, 2; 0: not asked
    bool is_chosen = false;             // gets the session
    std::string_view reason;            // why it is chosen or not, asked or not; static storage
  };

  Tuple packet;
  bool begins = false;  // a packet that begins a session by its kind
  Step step = Step::no_service;
  std::string service;  // empty: none
  std::string pool;
  policy::SelectionPolicy policy = policy::SelectionPolicy::hash;
  bool by_chance = false;      // the policy draws: any server that could be chosen may be
  bool owner_changed = false;  // its hash region has another owner since a moment ago
  bool outside_list = false;   // the server is not one of those that a recovery asks
  bool all_down = false;       // checks hold every server for down
  bool list_cut = false;       // more servers had a claim than one round asks
  std::optional<FlowEntry> entry;
  std::optional<Endpoint> mapping;  // where the server sees the session come from
  /// ACT mode: the client whose packet it is, or for whom, and what it has outside.
  struct Client {
    IpAddress address;
    std::optional<policy::PortRange> range;  // nothing: only former configurations knew it
    bool has_no_holder = false;              // as this node has seen
  };
  std::optional<Client> client;
  std::vector<Candidate> choices;     // of the packet's flow, best first; empty for a server's packet
  std::vector<Candidate> candidates;  // in the order in which they are asked
};

}  // namespace asrp::engine
