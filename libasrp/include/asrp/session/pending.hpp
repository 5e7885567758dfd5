// SPDX-License-Identifier: BSD-3-Clause
// The node's state in flight: recoveries with their held packets, sessions that wait for their NA, copies of
// full-NAT first packets. Everything else is in the kernel's table or at the holders.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "asrp/base/cookie.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/session/packet_pool.hpp"
#include "asrp/session/slot_pool.hpp"

namespace asrp::session {

/// A packet in a list of held ones.
struct Held {
  PacketPool::Handle packet = PacketPool::kNone;
  std::uint32_t next = kNoSlot;
  bool icmp = false;  // an error about the flow, not a packet of it
};

/// What a candidate has said so far.
enum class Answer : std::uint8_t { silent, no_session, session };

struct Candidate {
  IpAddress address;
  Cookie cookie;                  // random, of the QS to this one
  std::uint16_t source_port = 0;  // random, of the QS to this one
  Answer answer = Answer::silent;
};

/// Why a recovery runs; decides what happens when nothing is found.
enum class RecoveryKind : std::uint8_t {
  client,    // a packet from the client's side: all candidates of the query list
  server,    // a packet from a server: that server alone
  conflict,  // NC with F-CC: the holder that knows better
};

struct Recovery {
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  Tuple trigger;  // of the first held packet, as it was (an ICMP error: of the packet that it answers, reversed)
  RecoveryKind kind = RecoveryKind::client;
  bool may_create = false;       // UDP from the client's side, or a SYN: not found means a new session
  bool begins_with_syn = false;  // the first packet that is held is a SYN
  TimePoint started;
  TimePoint round_started;
  TimePoint due;  // of the timer that counts
  std::size_t repeats = 0;
  std::size_t asked = 0;  // [0, asked) have got their QS
  std::size_t round_begin = 0;
  std::size_t candidates_count = 0;
  std::array<Candidate, 2 * kMaxCandidates> candidates;
  TuplePair found;  // of the first candidate in the list that answered with a session; counts if `found_by` is set
  std::size_t found_by = kNobody;
  TimePoint grace_until;  // how long candidates before it may still speak
  std::uint32_t first_held = kNoSlot;
  std::uint32_t last_held = kNoSlot;
  std::size_t held_count = 0;
};

/// A session whose NS asked for an NA that has not come yet.
struct Waiting {
  TuplePair tuples;
  Cookie cookie;
  TimePoint last_sent;
  TimePoint due;
  int sent = 0;
  bool was_unprotected = false;  // the NS of the minute for an unprotected session: one try
};

/// A first packet whose mapping may turn out to be taken: a copy, or the packet itself (decisions 6, 7).
struct Attempt {
  TuplePair tuples;
  PacketPool::Handle packet = PacketPool::kNone;
  TimePoint due;
  std::uint16_t tries = 1;     // mappings
  std::uint16_t refusals = 0;  // of them by NC
  std::uint16_t tried = 0;     // ranks of the query list whose servers have refused, a bit for each
  bool ack_wanted = false;     // its NS had F-NA
  bool apart = false;          // its NS did not travel inside the packet
  bool held = false;           // the packet itself, not a copy: it goes on when the holder has confirmed the mapping
};

}  // namespace asrp::session
