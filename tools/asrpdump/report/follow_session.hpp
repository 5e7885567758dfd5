// SPDX-License-Identifier: BSD-3-Clause
// What a capture tells of one session.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "asrp/wire/message.hpp"
#include "report/follow_seen.hpp"

namespace asrp::dump {

/// A QS to one holder with its repetitions, and what came back.
struct Asked {
  Tuple tuple;      // that was asked for
  Endpoint node;    // who asks: local address and random port
  Endpoint holder;  // who is asked
  Cookie cookie;
  std::uint64_t session_data = 0;  // digest, 0 if there was none
  Moment first;
  Moment last;
  std::uint32_t tries = 0;
  std::optional<wire::MsgType> answer;
  Moment answered;

  /// Nanoseconds from the first QS to the answer.
  [[nodiscard]] std::int64_t latency() const { return answered.time - first.time; }
};

/// A node got to know the session by a message from its holder.
struct Restored {
  wire::MsgType by = wire::MsgType::RS;
  std::optional<IpAddress> node;  // where RS went to; a PS doesn't name one, but its link may tell
  Moment at;
};

/// What a report keeps of a session.
struct Attachment {
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;

  /// That it occupies, with all that hangs on it.
  [[nodiscard]] virtual std::size_t octets() const = 0;
};

/// A packet seen on one side of the node; `waits` until it is seen on the other one.
struct Before {
  Moment at;
  std::uint64_t digest = 0;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint32_t data = 0;
  std::uint16_t ip_id = 0;
  std::uint16_t message = 0;  // octets of the message that was in it
  std::uint8_t tcp_flags = 0;
  std::uint8_t ttl = 0;
  bool waits = false;
};

/// The last few of one direction.
struct Waiting {
  static constexpr std::size_t kKept = 8;
  std::array<Before, kKept> packets;
  std::size_t next = 0;
};

/// The packets of a flow to the server, each counted once on each side of the node.
struct Triggers {
  std::uint32_t in_front = 0;
  std::uint32_t behind = 0;
  std::uint32_t through = 0;  // of those behind, unaltered ones that were seen in front before

  /// True if there was one, seen on both sides: then the node had no other one to send a message because of, but for packets
  /// that the capture missed in front of the node as well as behind.
  [[nodiscard]] bool is_one() const { return in_front == 1 && behind == 1 && through == 1; }
};

struct Session {
  static constexpr std::size_t kMaxAsked = 64;     // the oldest are left out
  static constexpr std::size_t kMaxRestored = 64;  // those behind are only counted

  std::uint64_t id = 0;  // 1, 2 ... in the order of appearance
  TuplePair tuples;
  bool paired = false;   // else only `tuples.client_side` counts: a tuple that was asked for, nobody told its other side yet
  bool refused = false;  // the last NS was answered by NC: another mapping is no surprise
  bool ended = false;    // FIN of both ends, or RST, was seen

  Moment first;
  Moment last;
  std::optional<Moment> created;     // the first NS
  std::optional<IpAddress> node;     // the last node that is known to have had it
  std::optional<Cookie> cookie;      // of the last NS
  std::optional<std::uint32_t> isn;  // sequence number of the client's SYN

  std::array<std::uint32_t, wire::kMsgTypeCount> messages{};  // by type, each as often as it was sent
  std::uint64_t packets = 0;                                  // of the flow, each counted once on each side
  Triggers triggers;                                          // none where the node translates nothing
  std::int64_t longest_held = 0;                              // nanoseconds between both sides of the node
  std::vector<Asked> asked;
  std::uint64_t asked_before = 0;  // queries that `asked` has no room for
  std::vector<Restored> restored;
  std::uint64_t restored_by_rs = 0, restored_by_ps = 0;

  std::unique_ptr<std::array<Waiting, 2>> waiting;  // by direction: to the server, to the client
  std::uint8_t fins = 0;                            // bit 0: of the client, bit 1: of the server
  std::unique_ptr<Attachment> attachment;

  // The follower's own: what it occupies outside of its place, its place, the neighbours in the list by age, and whose
  // server-side tuple it took over.
  std::size_t octets = 0;     // as they were last weighed
  std::uint64_t touched = 0;  // by CaptureClock::passed()
  std::uint32_t slot = 0;
  std::uint32_t newer = 0;
  std::uint32_t older = 0;
  std::uint32_t taken_from = 0xffffffff;
  std::uint64_t taken_from_id = 0;

  /// Of one of its tuples.
  [[nodiscard]] bool has_end(const Endpoint& end) const {
    return end == tuples.client_side.src || end == tuples.client_side.dst || end == tuples.server_side.src ||
           end == tuples.server_side.dst;
  }
  [[nodiscard]] std::uint32_t count(wire::MsgType type) const { return messages[static_cast<std::size_t>(type)]; }
};

}  // namespace asrp::dump
