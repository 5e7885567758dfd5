// SPDX-License-Identifier: BSD-3-Clause
#include "decode/option_walk.hpp"

#include <algorithm>

#include "asrp/packet/checksum.hpp"

namespace asrp::dump {
namespace {

constexpr std::uint8_t kEol = 0;
constexpr std::uint8_t kNop = 1;
constexpr std::uint8_t kUdpFragment = 3;
constexpr std::uint8_t kUdpExp = 127;
constexpr std::uint8_t kUdpFirstUnsafe = 192;
constexpr std::uint8_t kUdpExtended = 255;
constexpr std::size_t kMaxNops = 7;  // in a row

bool is_ours_tcp(Octets option, const packet::Marker& marker) {
  if (option[0] != marker.tcp_kind) return false;
  if (!marker.tcp_has_exid()) return option.size() == 2;
  return option.size() == 4 && load_u16(option, 2) == marker.exid;
}

/// One option of a UDP surplus area, or what stands in its place.
struct UdpOption {
  enum class Kind : std::uint8_t { option, end, malformed, cut } what = Kind::end;
  std::size_t begin = 0;
  std::size_t data = 0;  // behind kind and length
  std::size_t end = 0;
};

/// Reads on from `at`. Octets from `real` on are not known.
UdpOption next_udp_option(Octets area, std::size_t real, std::size_t at) {
  using Kind = UdpOption::Kind;
  std::size_t nops = 0;
  for (; at < real && area[at] == kNop; ++at) {
    if (++nops > kMaxNops) return {Kind::malformed, at, at, at};
  }
  if (at == area.size()) return {};
  if (at >= real) return {Kind::cut, at, at, at};
  if (area[at] == kEol) {
    const bool is_zero = std::all_of(area.begin() + static_cast<std::ptrdiff_t>(at), area.end(), [](auto o) { return o == 0; });
    return {is_zero ? Kind::end : Kind::malformed, at, at, at};
  }
  const std::size_t left = area.size() - at;
  if (left < 2) return {Kind::malformed, at, at, at};
  if (real < at + 2) return {Kind::cut, at, at, at};
  std::size_t head = 2;
  std::size_t size = area[at + 1];
  if (size == kUdpExtended) {
    head = 4;
    if (left < head) return {Kind::malformed, at, at, at};
    if (real < at + head) return {Kind::cut, at, at, at};
    size = load_u16(area, at + 2);
  }
  const std::size_t least = head + (area[at] == kUdpExp ? 2 : 0);
  if (size < least || size > left) return {Kind::malformed, at, at, at};
  if (real < at + least) return {Kind::cut, at, at, at};
  return {Kind::option, at, at + head, at + size};
}

bool is_ours_udp(Octets area, const UdpOption& option, const packet::Marker& marker) {
  if (area[option.begin] != marker.udp_kind) return false;
  return !marker.udp_has_exid() || load_u16(area, option.data) == marker.exid;
}

/// Where pad octet and OCS end, in the surplus area.
std::size_t pad_size(const packet::PacketView& view) { return view.payload_size() % 2; }

bool is_ocs_right(const packet::PacketView& view, std::size_t pad) {
  const Octets surplus = view.surplus();
  if (load_u16(surplus, pad) == 0) return load_u16(view.octets(), view.transport_offset() + 6) == 0;
  return packet::ones_sum(surplus.subspan(pad), static_cast<std::uint16_t>(surplus.size())) == 0xffff;
}

}  // namespace

OptionSearch find_tcp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker) {
  const std::size_t begin = view.transport_offset() + 20;
  const Octets area = view.tcp_options();
  const std::size_t real = std::min(area.size(), captured - std::min(captured, begin));
  OptionSearch search;
  std::size_t at = 0;
  while (at < real && area[at] != kEol) {
    if (area[at] == kNop) {
      ++at;
      continue;
    }
    if (area.size() - at < 2) break;
    if (real < at + 2) return search;
    const std::size_t size = area[at + 1];
    if (size < 2 || size > area.size() - at) break;
    if (real < at + size) return search;
    if (is_ours_tcp(area.subspan(at, size), marker)) {
      const bool is_second = search.status != OptionStatus::none;
      search.status = is_second ? OptionStatus::malformed : OptionStatus::found;
      if (is_second) return search;
    }
    at += size;
  }
  const bool is_malformed = at < real && area[at] != kEol;
  if (is_malformed && search.status == OptionStatus::found) search.status = OptionStatus::malformed;
  return search;
}

OptionSearch find_udp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker) {
  OptionSearch search;
  const Octets surplus = view.surplus();
  const std::size_t pad = pad_size(view);
  if (surplus.size() < pad + 2) return search;
  const Octets area = surplus.subspan(pad + 2);
  const std::size_t area_offset = view.octets().size() - area.size();
  const std::size_t real = std::min(area.size(), captured - std::min(captured, area_offset));
  const auto worsen = [&search](OptionStatus status) {
    if (search.status != OptionStatus::none) search.status = status;
    return search;
  };
  for (std::size_t at = 0;;) {
    const UdpOption option = next_udp_option(area, real, at);
    if (option.what == UdpOption::Kind::malformed) return worsen(OptionStatus::malformed);
    if (option.what == UdpOption::Kind::cut) return worsen(OptionStatus::cut);
    if (option.what == UdpOption::Kind::end) break;
    if (is_ours_udp(area, option, marker)) {
      if (search.status != OptionStatus::none) return worsen(OptionStatus::malformed);
      const std::size_t data = option.data + (marker.udp_has_exid() ? 2 : 0);
      search = {OptionStatus::found, area_offset + data, option.end - data};
    } else if (area[option.begin] == kUdpFragment || area[option.begin] >= kUdpFirstUnsafe) {
      return worsen(OptionStatus::malformed);  // makes everything in the area void
    }
    at = option.end;
  }
  if (search.status == OptionStatus::none) return search;
  if (pad == 1 && surplus[0] != 0) return worsen(OptionStatus::malformed);
  if (real < area.size()) return worsen(OptionStatus::cut);
  if (!is_ocs_right(view, pad)) return worsen(OptionStatus::bad_ocs);
  return search;
}

}  // namespace asrp::dump
