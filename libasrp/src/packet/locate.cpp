// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/locate.hpp"

#include "asrp/packet/options.hpp"

namespace asrp::packet {
namespace {

Located bad(LocateStatus status) {
  Located located;
  located.status = status;
  return located;
}

Located locate_tcp(const PacketView& view, const Marker& marker) {
  const Octets area = view.tcp_options();
  TcpOptionWalk walk(area);
  Located located;
  for (;;) {
    const Step step = walk.next();
    if (step == Step::end) return located;
    if (step == Step::malformed) return bad(LocateStatus::bad_option);
    if (!is_ours_tcp(walk.option(), area, marker)) continue;
    if (located.found()) return bad(LocateStatus::bad_option);
    located = Located{LocateStatus::found, view.payload_offset(), view.payload_size(),
                      view.transport_offset() + 20 + walk.option().offset, walk.option().size};
  }
}

/// Looks only at the structure. FRAG and unsafe options make everything in the area void (RFC 9868): a message that stands
/// in front of one is bad_option, an area without a message stays `none`.
Located walk_surplus(const PacketView& view, const SurplusLayout& layout, const Marker& marker) {
  const Octets area = view.surplus().subspan(layout.options());
  const std::size_t area_offset = view.octets().size() - area.size();
  UdpOptionWalk walk(area);
  Located located;
  for (;;) {
    const Step step = walk.next();
    if (step == Step::end) return located;
    if (step == Step::malformed) return bad(LocateStatus::bad_option);
    const Option& option = walk.option();
    if (is_ours_udp(option, area, marker)) {
      if (located.found()) return bad(LocateStatus::bad_option);
      const std::size_t data = option.data_offset + (marker.udp_has_exid() ? 2 : 0);
      located = Located{LocateStatus::found, area_offset + data, option.offset + option.size - data,
                        area_offset + option.offset, option.size};
    } else if (option.kind == kUdpFrag || option.kind >= kUdpFirstUnsafe) {
      return located.found() ? bad(LocateStatus::bad_option) : located;
    }
  }
}

Located locate_udp(const PacketView& view, const Marker& marker) {
  const auto layout = surplus_layout(view);
  if (!layout) return {};
  const Located located = walk_surplus(view, *layout, marker);
  const bool has_right_ocs = is_ocs_right(view, *layout);
  if (located.found()) {
    if (!layout->is_pad_zero) return bad(LocateStatus::bad_option);
    return has_right_ocs ? located : bad(LocateStatus::bad_ocs);
  }
  // Octets that neither parse nor verify are no option area at all: padding of some other origin.
  return layout->is_pad_zero && has_right_ocs ? located : Located{};
}

}  // namespace

Located locate(const PacketView& view, const Marker& marker) {
  if (view.is_tcp()) return locate_tcp(view, marker);
  if (view.is_udp()) return locate_udp(view, marker);
  return {};
}

bool is_separate(const PacketView& view, std::size_t message_size) {
  if (view.is_tcp()) {
    return view.payload_size() <= message_size && (view.tcp_flags() & (kTcpSyn | kTcpFin | kTcpRst)) == 0;
  }
  return view.is_udp() && view.payload_size() == 0;
}

}  // namespace asrp::packet
