// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/options.hpp"

#include <algorithm>

#include "asrp/packet/checksum.hpp"

namespace asrp::packet {

Step TcpOptionWalk::next() {
  while (at_ < known_) {
    const std::uint8_t kind = area_[at_];
    if (kind == kOptionEol) return Step::end;
    if (kind == kOptionNop) {
      ++at_;
      continue;
    }
    const std::size_t left = area_.size() - at_;
    if (left < 2) return Step::malformed;
    if (known_ - at_ < 2) return Step::cut;
    const std::size_t size = area_[at_ + 1];
    if (size < 2 || size > left) return Step::malformed;
    if (size > known_ - at_) return Step::cut;
    option_ = Option{kind, at_, size, at_ + 2};
    at_ += size;
    return Step::option;
  }
  return at_ == area_.size() ? Step::end : Step::cut;
}

Step UdpOptionWalk::next() {
  std::size_t nops = 0;
  for (; at_ < known_ && area_[at_] == kOptionNop; ++at_) {
    if (++nops > kMaxNops) return Step::malformed;
  }
  if (at_ == area_.size()) return Step::end;
  if (at_ >= known_) return Step::cut;
  if (area_[at_] != kOptionEol) return read_option();
  const Octets rest = area_.subspan(at_);
  const bool is_zero = std::all_of(rest.begin(), rest.end(), [](std::uint8_t o) { return o == 0; });
  return is_zero ? Step::end : Step::malformed;
}

Step UdpOptionWalk::read_option() {
  const std::size_t left = area_.size() - at_;
  if (left < 2) return Step::malformed;
  if (known_ - at_ < 2) return Step::cut;
  std::size_t head = 2;
  std::size_t size = area_[at_ + 1];
  if (size == kUdpExtended) {
    head = 4;
    if (left < head) return Step::malformed;
    if (known_ - at_ < head) return Step::cut;
    size = load_u16(area_, at_ + 2);
  }
  const std::size_t least = head + (area_[at_] == kUdpExp ? 2 : 0);
  if (size < least || size > left) return Step::malformed;
  if (known_ - at_ < least) return Step::cut;
  option_ = Option{area_[at_], at_, size, at_ + head};
  at_ += size;
  return Step::option;
}

bool is_ours_tcp(const Option& option, Octets area, const Marker& marker) {
  if (option.kind != marker.tcp_kind) return false;
  if (!marker.tcp_has_exid()) return option.size == 2;
  return option.size == 4 && load_u16(area, option.data_offset) == marker.exid;
}

bool is_ours_udp(const Option& option, Octets area, const Marker& marker) {
  if (option.kind != marker.udp_kind) return false;
  if (!marker.udp_has_exid()) return true;
  return load_u16(area, option.data_offset) == marker.exid;
}

std::optional<SurplusLayout> surplus_layout(const PacketView& view) {
  const Octets surplus = view.surplus();
  // All headers in front are even, so the first even offset follows from the user data.
  const std::size_t pad = view.payload_size() % 2;
  if (surplus.size() < pad + 2) return std::nullopt;
  return SurplusLayout{pad == 0 || surplus[0] == 0, pad};
}

bool is_ocs_right(const PacketView& view, const SurplusLayout& layout) {
  const Octets surplus = view.surplus();
  const std::uint16_t ocs = load_u16(surplus, layout.ocs);
  if (ocs == 0) return load_u16(view.octets(), view.transport_offset() + 6) == 0;
  const auto length = static_cast<std::uint16_t>(surplus.size());
  return ones_sum(surplus.subspan(layout.ocs), length) == 0xffff;
}

}  // namespace asrp::packet
