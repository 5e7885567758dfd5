// SPDX-License-Identifier: BSD-3-Clause
// What is kept of a packet when it is gone, and which packets are the same one, seen at several points of its way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "asrp/base/tuple.hpp"
#include "packet.hpp"

namespace asrp::dump {

/// A packet's place in the capture. `time` in nanoseconds since 1970.
struct Moment {
  std::uint64_t number = 0;
  std::int64_t time = 0;
};

/// The facts of a packet that tell it from others of its flow, without the octets of a message in it.
struct Seen {
  Moment at;
  Tuple tuple;
  std::uint8_t tcp_flags = 0;
  std::uint8_t ttl = 0;
  std::uint16_t ip_id = 0;  // 0 for IPv6
  bool own_id = false;      // it tells this packet from others: a separate packet has that of another one
  std::uint32_t link = 0;   // interface and direction, if the capture tells them; else 0
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::uint32_t data = 0;     // octets of user data, a message not counted
  std::uint32_t ip_size = 0;  // octets of the packet, a message counted
  std::uint64_t digest = 0;   // of the first user data; 0 if the capture cut them off
  std::uint64_t message = 0;  // digest of the message; 0 if there is none
  std::uint16_t message_size = 0;
  bool hello = false;  // the message is an HS, with this cookie
  std::uint32_t hello_cookie = 0;

  [[nodiscard]] bool is_tcp() const { return tuple.protocol == Protocol::tcp; }
  /// The first packet of a TCP connection.
  [[nodiscard]] bool is_syn() const { return (tcp_flags & (packet::kTcpSyn | packet::kTcpAck)) == packet::kTcpSyn; }
};

/// Precondition: `packet.view`.
Seen look_at(const Packet& packet);

/// Digest of octets for comparisons inside one run; never 0.
std::uint64_t digest_of(Octets octets);
std::uint64_t digest_of(const Tuple& tuple);
/// Of its Session-Data; 0 if it has none.
std::uint64_t data_digest(const wire::Message& message);

/// True for the tuples of one flow, in whichever direction.
inline bool same_flow(const Tuple& one, const Tuple& other) { return one == other || one == other.reversed(); }

/// Remembers the latest packets, to know one that a capture of several links, or several merged captures, show again. It has
/// the same octets. With another TTL it was seen at another hop. With the same TTL it was sent again, unless it follows so soon
/// that only the clocks of two captures, or two interfaces of one host, lie between: nobody repeats that quickly, and who
/// repeats has another IPv4 identification, if there is one. Bounded: the oldest of four with neighbouring digests makes room.
class Copies {
 public:
  static constexpr std::int64_t kLongestWay = 2'000'000'000;  // nanoseconds from the first sighting of a packet to its last
  static constexpr std::int64_t kSkew = 10'000'000;           // of clocks
  static constexpr std::int64_t kSkewOfOwnId = 200'000'000;   // the same, where the identification speaks for it

  Copies();
  /// True if `seen` is a packet that was seen before.
  bool is_copy(const Seen& seen);

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int64_t time = 0;                  // of the first sighting
    std::array<std::uint32_t, 6> points{};  // of all: link and TTL; 0 behind the last

    [[nodiscard]] bool is_sighting(const Seen& seen) const;
    void note(const Seen& seen);
  };
  static constexpr std::size_t kSets = 8192;
  std::vector<std::array<Entry, 4>> sets_;
};

/// The latest packets that belonged to no known session: when a message tells of one, its first packets are among them.
class Recent {
 public:
  Recent();
  void add(const Seen& seen);
  /// Takes out those of the tuple, in either direction, that were seen at `since` or later, in their order.
  void take(const Tuple& tuple, std::int64_t since, std::vector<Seen>& out);

 private:
  static constexpr std::size_t kSize = 2048;
  std::vector<Seen> ring_;
  std::vector<std::uint64_t> keys_;  // beside the ring, so that a search reads little; 0 where nothing is
  std::size_t next_ = 0;
};

/// Digest of a tuple, the same for both of its directions.
std::uint64_t flow_hash(const Tuple& tuple);

}  // namespace asrp::dump
