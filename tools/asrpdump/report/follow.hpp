// SPDX-License-Identifier: BSD-3-Clause
// Follows the sessions of a capture: which packet belongs to which, which is one more sighting of the same packet, which answer
// belongs to which query, how long the node held a packet. --sessions, --stats, --check and --ladder listen to it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "packet.hpp"
#include "report/follow_clock.hpp"
#include "report/follow_places.hpp"
#include "report/follow_queries.hpp"
#include "report/follow_seen.hpp"
#include "report/follow_session.hpp"
#include "report/sink.hpp"

namespace asrp::dump {

struct FollowOptions {
  std::size_t max_sessions = 65536;                 // remembered at the same time
  std::size_t max_octets = std::size_t{160} << 20;  // that they occupy, with what the listener attaches to them
  std::chrono::seconds idle{900};                   // without a packet: the session leaves
  std::chrono::seconds ended{75};                   // the same for one whose end was seen
};

/// Which side of the node a packet was seen on.
enum class Side : std::uint8_t { none, client, server };

/// How well an answer fits a query.
enum class Fit : std::uint8_t {
  none,    // no query is known that it could answer
  header,  // its ports and addresses do, its cookie doesn't
  cookie,  // its cookie and tuple do, ports or addresses don't
  whole,
};

/// What became of a TCP segment at the node that should not have.
enum class Change : std::uint8_t {
  none,
  numbers,    // sequence or acknowledgment number
  data,       // other octets in the same place
  left_over,  // the option is gone, the message is still there
};

/// A packet of a session, or a message of none.
struct Heard {
  Seen seen;
  const Packet* packet = nullptr;          // null: it was seen before its session was known
  const wire::Message* message = nullptr;  // valid messages only
  packet::Carriage carriage = packet::Carriage::standalone;
  Session* session = nullptr;
  Side side = Side::none;         // none: standalone
  bool to_server = false;         // direction of a packet of the flow
  bool copy = false;              // seen before at another point
  bool passed = false;            // message in a UDP option that was seen before, on the other side of the node
  bool late = false;              // it was seen before its session was known; an HS was heard then too, without session
  bool probe = false;             // QS and RX for an all-zero tuple: is the holder there?
  bool remapped = false;          // NS that gives a refused session another server-side tuple
  Asked* asked = nullptr;         // QS, RS, RX: the query
  Fit fit = Fit::none;            // RS, RX
  bool again = false;             // RS, RX: the query was answered before; QS: repeated
  std::optional<Before> came;     // the same packet as it was seen in front of the node
  std::optional<Before> altered;  // the same, but for what `change` says
  Change change = Change::none;
  bool certainly = false;  // that `altered` is the same packet

  [[nodiscard]] bool is(wire::MsgType type) const { return message != nullptr && message->type == type; }
  /// A packet of the flow; also with a message in it, unless it is a separate packet.
  [[nodiscard]] bool is_flow() const {
    return message == nullptr || carriage == packet::Carriage::inline_tcp || carriage == packet::Carriage::inline_udp;
  }
  /// A SYN, or the answer to one, also with a message in it.
  [[nodiscard]] bool in_syn() const { return is_flow() && (seen.tcp_flags & packet::kTcpSyn) != 0; }
};

class FollowListener {
 public:
  FollowListener() = default;
  FollowListener(const FollowListener&) = delete;
  FollowListener& operator=(const FollowListener&) = delete;
  virtual ~FollowListener() = default;

  /// Each packet of a known session, and each valid message. `heard` is valid during the call.
  virtual void on_heard(const Heard& heard) = 0;
  /// The session was idle, its tuple is used anew, there is no more room, or the capture ended.
  virtual void on_gone(Session& session) = 0;
  /// A probe (a query for no session) that leaves; `session` of queries see on_gone().
  virtual void on_probe_gone(const Asked&) {}
};

class Follower {
 public:
  Follower(const FollowOptions& options, FollowListener& listener);

  void on_packet(const Packet& packet);
  /// All sessions leave, oldest first.
  void finish();

  /// Sessions that had to leave before they were idle, because there were max_sessions, or max_octets.
  [[nodiscard]] std::uint64_t forgotten() const { return forgotten_; }
  /// A line about them, if there are any.
  void tell_forgotten(const Sink& notes) const;
  [[nodiscard]] std::size_t live() const { return live_; }
  /// That the sessions occupy.
  [[nodiscard]] std::size_t octets() const { return slots_.size() * sizeof(slots_[0]) + held_; }
  [[nodiscard]] const Queries& queries() const { return queries_; }
  /// True for a tuple of a session that is followed.
  [[nodiscard]] bool knows(const Tuple& tuple) { return find(tuple) != nullptr; }
  /// True if one of the latest queries has this cookie, and it isn't zero.
  [[nodiscard]] bool has_query(Cookie cookie) { return cookie.value != 0 && queries_.with(cookie).front() != nullptr; }
  /// Where nodes are; what a report learns more of it, it may add.
  [[nodiscard]] NodePlaces& places() { return places_; }
  /// Time of the latest packet, those apart whose stamps are wrong.
  [[nodiscard]] std::int64_t now() const { return clock_.now(); }

 private:
  struct Hash {
    std::size_t operator()(const Tuple& tuple) const { return flow_hash(tuple); }
  };
  using Slot = std::uint32_t;
  static constexpr Slot kNone = 0xffffffff;
  struct List {
    Slot oldest = kNone;
    Slot newest = kNone;
  };

  // Sessions (follow.cpp).
  Session* find(const Tuple& tuple);
  Session& create(const TuplePair& tuples, bool paired, const Heard& heard);
  void name(Slot slot, const Tuple& tuple);
  void unname(Slot slot, const Tuple& tuple);
  void pair_up(Session& session, const TuplePair& tuples, const Moment& at);
  void touch(Session& session, const Moment& at);
  void leave(Slot slot);
  void forget_one();
  void expire();
  void weigh(Session& session);
  void link(Slot slot);
  void unlink(Slot slot);
  List& list_of(const Session& session) { return session.ended ? ended_ : open_; }

  // Packets of flows (follow_flow.cpp).
  void flow(Heard& heard);
  void place(Heard& heard) const;
  void pass(Heard& heard);
  static void compare(Heard& heard, Waiting& waiting, bool one_tuple);
  void catch_up(Session& session, const Moment& at);
  void hear(Heard& heard);

  // Messages (follow_message.cpp).
  void message(Heard& heard);
  bool passed(const Heard& heard);
  Session& new_session(Heard& heard);
  Session& with_pair(Heard& heard);
  void refuse(Session& session, const wire::Message& message);
  void query(Heard& heard);
  void answer(Heard& heard);
  Asked* asked_by(const Heard& heard, Session*& session, Fit& fit);
  Asked* asked_of(const Queries::Query& query);
  void restore(Heard& heard);

  FollowOptions options_;
  FollowListener& listener_;
  std::deque<std::optional<Session>> slots_;
  std::vector<Slot> free_;
  std::unordered_map<Tuple, Slot, Hash> by_tuple_;  // normalised tuples
  List open_;
  List ended_;
  std::size_t live_ = 0;
  std::size_t held_ = 0;  // octets outside of slots_
  std::uint64_t next_id_ = 1;
  std::uint64_t forgotten_ = 0;
  CaptureClock clock_;
  Copies copies_;
  Copies sides_;  // see passed()
  Recent recent_;
  NodePlaces places_;
  std::deque<Asked> probes_;
  std::uint64_t probes_gone_ = 0;
  Queries queries_;
  std::vector<Seen> early_;
};

/// The header that an RS or RX must have: the query's with its addresses swapped, not its ports. And the other way round.
Tuple answer_header(const Tuple& query);
/// True for a SYN that isn't the one the session began with, nor that one as a node altered it: the ports are used anew.
bool begins_anew(const Session& session, const Seen& seen);

}  // namespace asrp::dump
