// SPDX-License-Identifier: BSD-3-Clause
// The UDP half of surgery: an EXP option in the surplus area of RFC 9868. UDP Length and user data stay as they are.
#include <array>

#include "asrp/packet/options.hpp"
#include "packet/surgery_detail.hpp"

namespace asrp::packet {
namespace {

constexpr std::size_t kLengthAt = 4;
constexpr std::size_t kChecksumAt = 6;
constexpr std::size_t kUdpHeaderSize = 8;
constexpr std::size_t kMaxShortOption = 254;

/// Kind, length and ExID of the option around a message.
class OptionHead {
 public:
  OptionHead(const Marker& marker, std::size_t message_size) {
    push(marker.udp_kind);
    const std::size_t exid = marker.udp_has_exid() ? 2 : 0;
    const std::size_t total = 2 + exid + message_size;
    if (total <= kMaxShortOption) {
      push(static_cast<std::uint8_t>(total));
    } else {
      push(kUdpExtended);
      push_u16(static_cast<std::uint16_t>(total + 2));
    }
    if (exid != 0) push_u16(marker.exid);
  }
  [[nodiscard]] Octets octets() const { return Octets(octets_).first(size_); }

 private:
  void push(std::uint8_t octet) { octets_[size_++] = octet; }
  void push_u16(std::uint16_t v) {
    push(static_cast<std::uint8_t>(v >> 8));
    push(static_cast<std::uint8_t>(v));
  }

  std::array<std::uint8_t, 6> octets_{};
  std::size_t size_ = 0;
};

constexpr std::array<std::uint8_t, 3> kNewArea{};  // pad octet and OCS, or the OCS alone

/// Writes the OCS of an appended packet whose surplus begins at `surplus`.
void set_ocs(MutableOctets packet, std::size_t surplus, std::size_t pad) {
  const MutableOctets from_ocs = packet.subspan(surplus + pad);
  store_u16(from_ocs, 0, option_checksum(from_ocs, packet.size() - surplus));
}

std::size_t surplus_offset(const PacketView& view) { return view.payload_offset() + view.payload_size(); }

/// Offset, in the surplus, where an option may be added: behind all others, before EOL.
Result<std::size_t, SurgeryError> find_place(const PacketView& view, const SurplusLayout& layout, const Marker& marker) {
  if (!layout.is_pad_zero || !is_ocs_right(view, layout)) return Failure{SurgeryError::malformed_options};
  const Octets area = view.surplus().subspan(layout.options());
  UdpOptionWalk walk(area);
  bool is_empty = true;
  for (Step step = walk.next(); step != Step::end; step = walk.next()) {
    if (step == Step::malformed) return Failure{SurgeryError::malformed_options};
    const Option& option = walk.option();
    if (is_ours_udp(option, area, marker)) return Failure{SurgeryError::has_message};
    if (option.kind == kUdpFrag || option.kind == kUdpAuth || option.kind >= kUdpFirstUnsafe) {
      return Failure{SurgeryError::protected_segment};
    }
    is_empty = false;
  }
  // After strip() an area without options could not be told from none.
  if (is_empty) return Failure{SurgeryError::malformed_options};
  return layout.options() + walk.end_offset();
}

Result<Done, SurgeryError> insert_into_area(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                            Buffer& out) {
  const auto layout = surplus_layout(view);
  if (!layout) return Failure{SurgeryError::malformed_options};
  const auto place = find_place(view, *layout, marker);
  if (!place) return Failure{place.error()};
  const OptionHead head(marker, message.size());
  const Octets packet = view.octets();
  const std::size_t size = packet.size() + head.octets().size() + message.size();
  if (size > mtu || size > kMaxPacket) return Failure{SurgeryError::exceeds_mtu};

  const std::size_t at = surplus_offset(view) + *place;
  const std::size_t start = append({packet.first(at), head.octets(), message, packet.subspan(at)}, out);
  const MutableOctets result = MutableOctets(out).subspan(start);
  const bool uses_ocs = load_u16(view.surplus(), layout->ocs) != 0;
  if (uses_ocs) set_ocs(result, surplus_offset(view), layout->ocs);
  set_ip_length(view, result);
  return Done{};
}

/// Does anything but our option need the area?
bool has_other_options(const PacketView& view, std::size_t options, std::size_t our_offset) {
  UdpOptionWalk walk(view.octets().subspan(options));
  while (walk.next() == Step::option) {
    if (options + walk.option().offset != our_offset) return true;
  }
  return false;
}

/// The checksum after user data and length are gone; one that is not there stays away.
std::uint16_t bare_checksum(const PacketView& view) {
  const Octets transport = view.octets().subspan(view.transport_offset());
  const std::uint16_t old = load_u16(transport, kChecksumAt);
  if (old == 0) return 0;
  Sum sum(old);
  sum.remove(view.payload());
  for (int i = 0; i < 2; ++i) {  // once in the header, once in the pseudo header
    sum.remove(load_u16(transport, kLengthAt));
    sum.add(std::uint16_t{kUdpHeaderSize});
  }
  return sum.checksum() == 0 ? std::uint16_t{0xffff} : sum.checksum();
}

}  // namespace

Result<Done, SurgeryError> insert_udp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                      Buffer& out) {
  if (view.payload_size() == 0) return Failure{SurgeryError::no_data};
  if (!view.surplus().empty()) return insert_into_area(view, marker, message, mtu, out);
  const OptionHead head(marker, message.size());
  const std::size_t pad = view.payload_size() % 2;
  const Octets packet = view.octets();
  const std::size_t size = packet.size() + pad + 2 + head.octets().size() + message.size();
  if (size > mtu || size > kMaxPacket) return Failure{SurgeryError::exceeds_mtu};

  const std::size_t start = append({packet, Octets(kNewArea).first(pad + 2), head.octets(), message}, out);
  const MutableOctets result = MutableOctets(out).subspan(start);
  set_ocs(result, packet.size(), pad);
  set_ip_length(view, result);
  return Done{};
}

Result<Done, SurgeryError> separate_udp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                        Buffer& out) {
  if (locate(view, marker).found()) return Failure{SurgeryError::has_message};
  const OptionHead head(marker, message.size());
  const std::size_t header_end = view.transport_offset() + kUdpHeaderSize;
  const std::size_t size = header_end + 2 + head.octets().size() + message.size();
  if (size > mtu || size > kMaxPacket) return Failure{SurgeryError::exceeds_mtu};

  const std::size_t start = append({view.octets().first(header_end), Octets(kNewArea).first(2), head.octets(), message}, out);
  const MutableOctets result = MutableOctets(out).subspan(start);
  const MutableOctets transport = result.subspan(view.transport_offset());
  store_u16(transport, kLengthAt, kUdpHeaderSize);
  store_u16(transport, kChecksumAt, bare_checksum(view));
  set_ocs(result, header_end, 0);
  set_ip_length(view, result);
  return Done{};
}

void strip_udp(const PacketView& view, const Located& located, Buffer& out) {
  const Octets packet = view.octets();
  const auto layout = surplus_layout(view);
  ASRP_ASSERT(layout.has_value());
  const std::size_t surplus = surplus_offset(view);
  if (!has_other_options(view, surplus + layout->options(), located.option_offset)) {
    const std::size_t start = append({packet.first(surplus)}, out);
    set_ip_length(view, MutableOctets(out).subspan(start));
    return;
  }
  const std::size_t behind = located.option_offset + located.option_size;
  const std::size_t start = append({packet.first(located.option_offset), packet.subspan(behind)}, out);
  const MutableOctets result = MutableOctets(out).subspan(start);
  if (load_u16(view.surplus(), layout->ocs) != 0) set_ocs(result, surplus, layout->ocs);
  set_ip_length(view, result);
}

}  // namespace asrp::packet
