// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/packet_pool.hpp"

#include <algorithm>

namespace asrp::session {

std::uint32_t PacketPool::take_block() {
  if (free_.empty()) {
    blocks_.emplace_back();
    return static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  const std::uint32_t block = free_.back();
  free_.pop_back();
  return block;
}

PacketPool::Handle PacketPool::store(Octets packet) {
  if (packets_ >= max_packets_ || octets_ + packet.size() > max_octets_) return kNone;
  const Handle first = take_block();
  std::uint32_t at = first;
  blocks_[at].packet_size = static_cast<std::uint32_t>(packet.size());
  for (Octets rest = packet;;) {
    const std::size_t part = std::min(rest.size(), kBlock);
    std::copy_n(rest.begin(), part, blocks_[at].octets.begin());
    rest = rest.subspan(part);
    blocks_[at].next = kNone;
    if (rest.empty()) break;
    const std::uint32_t more = take_block();
    blocks_[at].next = more;
    at = more;
  }
  ++packets_;
  octets_ += packet.size();
  return first;
}

void PacketPool::append_to(Handle handle, Buffer& out) const {
  std::size_t rest = blocks_[handle].packet_size;
  for (std::uint32_t at = handle; at != kNone; at = blocks_[at].next) {
    const std::size_t part = std::min(rest, kBlock);
    out.insert(out.end(), blocks_[at].octets.begin(), blocks_[at].octets.begin() + static_cast<std::ptrdiff_t>(part));
    rest -= part;
  }
}

void PacketPool::release(Handle handle) {
  --packets_;
  octets_ -= blocks_[handle].packet_size;
  for (std::uint32_t at = handle; at != kNone;) {
    const std::uint32_t next = blocks_[at].next;
    free_.push_back(at);
    at = next;
  }
}

}  // namespace asrp::session
