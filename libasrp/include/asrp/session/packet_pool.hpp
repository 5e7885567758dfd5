// SPDX-License-Identifier: BSD-3-Clause
// Copies of packets that wait for an answer. Bounded in packets and in octets; kept in blocks that are reused, so that holding
// a packet allocates nothing once the pool has seen its largest load.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "asrp/base/bytes.hpp"

namespace asrp::session {

class PacketPool {
 public:
  using Handle = std::uint32_t;
  static constexpr Handle kNone = 0xffffffff;

  PacketPool(std::size_t max_packets, std::size_t max_octets) : max_packets_(max_packets), max_octets_(max_octets) {}

  /// Keeps a copy; kNone if a bound is reached.
  Handle store(Octets packet);
  /// Appends the packet to `out`.
  void append_to(Handle handle, Buffer& out) const;
  [[nodiscard]] std::size_t size_of(Handle handle) const { return blocks_[handle].packet_size; }
  void release(Handle handle);

  [[nodiscard]] std::size_t packets() const { return packets_; }
  [[nodiscard]] std::size_t octets() const { return octets_; }
  /// What is kept stays, also beyond a smaller bound.
  void set_limits(std::size_t max_packets, std::size_t max_octets) {
    max_packets_ = max_packets;
    max_octets_ = max_octets;
  }

 private:
  static constexpr std::size_t kBlock = 240;  // small segments and DNS queries fit into one
  struct Block {
    std::uint32_t next = kNone;
    std::uint32_t packet_size = 0;  // in the first block of a packet
    std::array<std::uint8_t, kBlock> octets;
  };
  std::uint32_t take_block();

  std::deque<Block> blocks_;
  std::vector<std::uint32_t> free_;
  std::size_t packets_ = 0;
  std::size_t octets_ = 0;
  std::size_t max_packets_;
  std::size_t max_octets_;
};

}  // namespace asrp::session
