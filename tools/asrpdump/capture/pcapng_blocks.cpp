// SPDX-License-Identifier: BSD-3-Clause
#include "capture/pcapng_blocks.hpp"

#include <algorithm>

namespace asrp::dump {
namespace {

constexpr std::uint32_t kSection = 0x0a0d0d0a;
constexpr std::uint32_t kInterface = 1;
constexpr std::uint32_t kSimplePacket = 3;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kByteOrderLittle = 0x4d3c2b1a;
constexpr int kRawInFiles = 101;
constexpr int kRawInLibpcap = 12;
constexpr std::uint32_t kLargestLength = 262144;  // what libpcap takes for 0, "no limit"

std::uint32_t swapped(std::uint32_t value) { return __builtin_bswap32(value); }

}  // namespace

std::uint32_t PcapngBlocks::load(Octets head, std::size_t at) const {
  const std::uint32_t value = load_u32(head, at);
  return is_little_ ? swapped(value) : value;
}

void PcapngBlocks::store(MutableOctets head, std::size_t at, std::uint32_t value) const {
  store_u32(head, at, is_little_ ? swapped(value) : value);
}

void PcapngBlocks::mend_interface(MutableOctets head) {
  const std::size_t low = is_little_ ? 8 : 9;  // octet of the link type
  const std::size_t high = is_little_ ? 9 : 8;
  int type = head[high] * 256 + head[low];
  if (type == kRawInFiles) {
    type = kRawInLibpcap;
    head[low] = kRawInLibpcap;
  }
  if (link_type_ < 0) {
    link_type_ = type;
    snap_length_ = load(head, 12);
    common_length_ = snap_length_ > kLargestLength ? snap_length_ : 0;
  }
  if (type != link_type_ && other_link_type_ < 0) other_link_type_ = type;
  store(head, 12, common_length_);
}

/// Returns false if this is no head of a block.
bool PcapngBlocks::mend_head(MutableOctets head) {
  if (load_u32(head, 0) == kSection) {
    const std::uint32_t order = load_u32(head, 8);
    if (order != kByteOrder && order != kByteOrderLittle) return false;
    is_little_ = order == kByteOrderLittle;
  }
  const std::uint32_t type = load(head, 0);
  left_ = load(head, 4);
  if (left_ < 12 || left_ % 4 != 0) return false;
  if (type == kInterface && left_ >= 20) mend_interface(head);
  // A packet without a length of its own is as long as it was on the wire, at most as the snapshot length.
  if (type == kSimplePacket && left_ >= 16 && snap_length_ != 0) store(head, 8, std::min(load(head, 8), snap_length_));
  return true;
}

std::size_t PcapngBlocks::mend(MutableOctets octets) {
  std::size_t at = 0;
  while (!is_lost_ && at < octets.size()) {
    if (left_ == 0) {
      if (octets.size() - at < kHead) return at;
      is_lost_ = !mend_head(octets.subspan(at, kHead));
      if (is_lost_) break;
    }
    const std::size_t size = std::min<std::uint64_t>(left_, octets.size() - at);
    left_ -= size;
    at += size;
  }
  return octets.size();
}

}  // namespace asrp::dump
