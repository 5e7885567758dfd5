// SPDX-License-Identifier: BSD-3-Clause
#include "decode/option_walk.hpp"

#include <algorithm>

#include "asrp/packet/options.hpp"

namespace asrp::dump {
namespace {

using packet::Step;

constexpr std::size_t kTcpHeaderSize = 20;

/// Octets of `size` from `begin` on that are real.
std::size_t known_of(std::size_t captured, std::size_t begin, std::size_t size) {
  return std::min(size, captured - std::min(captured, begin));
}

/// What else is wrong counts only where our option is there.
OptionSearch worsened(OptionSearch search, OptionStatus status) {
  if (search.status != OptionStatus::none) search.status = status;
  return search;
}

}  // namespace

OptionSearch find_tcp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker) {
  const Octets area = view.tcp_options();
  packet::TcpOptionWalk walk(area, known_of(captured, view.transport_offset() + kTcpHeaderSize, area.size()));
  OptionSearch search;
  for (;;) {
    const Step step = walk.next();
    if (step == Step::malformed) return worsened(search, OptionStatus::malformed);
    if (step != Step::option) return search;
    if (!packet::is_ours_tcp(walk.option(), area, marker)) continue;
    if (search.status != OptionStatus::none) return worsened(search, OptionStatus::malformed);
    search.status = OptionStatus::found;
  }
}

OptionSearch find_udp_option(const packet::PacketView& view, std::size_t captured, const packet::Marker& marker) {
  OptionSearch search;
  const auto layout = packet::surplus_layout(view);
  if (!layout) return search;
  const Octets area = view.surplus().subspan(layout->options());
  const std::size_t area_offset = view.octets().size() - area.size();
  const std::size_t known = known_of(captured, area_offset, area.size());
  packet::UdpOptionWalk walk(area, known);
  for (Step step = walk.next(); step != Step::end; step = walk.next()) {
    if (step != Step::option) return worsened(search, step == Step::cut ? OptionStatus::cut : OptionStatus::malformed);
    const packet::Option& option = walk.option();
    if (packet::is_ours_udp(option, area, marker)) {
      if (search.status != OptionStatus::none) return worsened(search, OptionStatus::malformed);
      const std::size_t data = option.data_offset + (marker.udp_has_exid() ? 2 : 0);
      search = {OptionStatus::found, area_offset + data, option.offset + option.size - data};
    } else if (option.kind == packet::kUdpFrag || option.kind >= packet::kUdpFirstUnsafe) {
      return worsened(search, OptionStatus::malformed);  // makes everything in the area void
    }
  }
  if (!layout->is_pad_zero) return worsened(search, OptionStatus::malformed);
  if (known < area.size()) return worsened(search, OptionStatus::cut);
  if (search.status == OptionStatus::found && !packet::is_ocs_right(view, *layout)) search.status = OptionStatus::bad_ocs;
  return search;
}

}  // namespace asrp::dump
