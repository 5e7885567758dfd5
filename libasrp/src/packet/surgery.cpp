// SPDX-License-Identifier: BSD-3-Clause
// TCP and the common parts; UDP is in surgery_udp.cpp.
#include "asrp/packet/surgery.hpp"

#include <array>

#include "asrp/packet/options.hpp"
#include "packet/surgery_detail.hpp"

namespace asrp::packet {
namespace {

constexpr std::size_t kFlagsWordAt = 12;  // data offset and flags
constexpr std::size_t kChecksumAt = 16;
constexpr std::size_t kOptionsAt = 20;

constexpr std::array<std::string_view, 7> kSurgeryErrorNames{
    "exceeds_mtu", "no_option_room", "protected_segment", "malformed_options", "has_message", "no_data", "not_a_flow"};

std::array<std::uint8_t, kTcpMarkerSize> marker_octets(const Marker& marker) {
  if (!marker.tcp_has_exid()) return {kOptionNop, kOptionNop, marker.tcp_kind, 2};
  return {marker.tcp_kind, 4, static_cast<std::uint8_t>(marker.exid >> 8), static_cast<std::uint8_t>(marker.exid)};
}

/// Finds what forbids a marker in the options.
Result<Done, SurgeryError> check_options(const PacketView& view, const Marker& marker) {
  const Octets area = view.tcp_options();
  TcpOptionWalk walk(area);
  for (Step step = walk.next(); step != Step::end; step = walk.next()) {
    if (step == Step::malformed) return Failure{SurgeryError::malformed_options};
    const Option& option = walk.option();
    if (option.kind == kTcpMd5 || option.kind == kTcpAo) return Failure{SurgeryError::protected_segment};
    if (is_ours_tcp(option, area, marker)) return Failure{SurgeryError::has_message};
  }
  if (area.size() + kTcpMarkerSize > kMaxTcpOptions) return Failure{SurgeryError::no_option_room};
  return Done{};
}

/// Begin of a TCP header's rewrite: the sum that the checksum stands for, without the words that will change.
Sum sum_without_lengths(const PacketView& view) {
  const Octets packet = view.octets();
  const std::size_t transport = view.transport_offset();
  Sum sum(load_u16(packet, transport + kChecksumAt));
  sum.remove(static_cast<std::uint16_t>(packet.size() - transport));  // pseudo header
  sum.remove(load_u16(packet, transport + kFlagsWordAt));
  return sum;
}

/// Sets data offset, flags, lengths and checksum of the packet that was appended at `start`.
void finish_tcp(const PacketView& view, std::uint16_t flags_word, Sum sum, std::size_t start, Buffer& out) {
  const MutableOctets packet = MutableOctets(out).subspan(start);
  const std::size_t transport = view.transport_offset();
  sum.add(static_cast<std::uint16_t>(packet.size() - transport));
  sum.add(flags_word);
  store_u16(packet, transport + kFlagsWordAt, flags_word);
  store_u16(packet, transport + kChecksumAt, sum.checksum());
  set_ip_length(view, packet);
}

/// The flags word with a data offset of `words` more.
std::uint16_t moved_data_offset(const PacketView& view, int words) {
  return static_cast<std::uint16_t>(load_u16(view.octets(), view.transport_offset() + kFlagsWordAt) + words * 0x1000);
}

/// What strip() takes out of the options: our own four octets, else four that are the whole option, else nothing (NOPs over
/// it).
struct Removal {
  std::size_t offset;
  std::size_t size;
};

Removal removal_of(const PacketView& view, const Located& located) {
  if (located.option_size % 4 == 0) return {located.option_offset, located.option_size};
  const std::size_t front = view.transport_offset() + kOptionsAt;
  const Octets packet = view.octets();
  const bool is_our_form = located.option_size == 2 && located.option_offset == front + 2 && packet[front] == kOptionNop &&
                           packet[front + 1] == kOptionNop;
  return is_our_form ? Removal{front, kTcpMarkerSize} : Removal{located.option_offset, 0};
}

}  // namespace

std::string_view to_string(SurgeryError error) {
  const auto number = static_cast<std::uint8_t>(error);
  return number < kSurgeryErrorNames.size() ? kSurgeryErrorNames[number] : "?";
}

namespace {

Result<Done, SurgeryError> insert_tcp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                      Buffer& out) {
  if (view.payload_size() == 0 && (view.tcp_flags() & (kTcpSyn | kTcpFin | kTcpRst)) == 0) {
    return Failure{SurgeryError::no_data};
  }
  if (const auto checked = check_options(view, marker); !checked) return checked;
  const Octets packet = view.octets();
  const std::size_t size = packet.size() + kTcpMarkerSize + message.size();
  if (size > mtu || size > kMaxPacket) return Failure{SurgeryError::exceeds_mtu};

  const auto option = marker_octets(marker);
  Sum sum = sum_without_lengths(view);
  sum.add(option);
  sum.add(message);
  if (message.size() % 2 != 0) sum.shift_by_one(view.payload());

  const std::size_t options = view.transport_offset() + kOptionsAt;
  const std::size_t start = append({packet.first(options), option, view.tcp_options(), message, view.payload()}, out);
  finish_tcp(view, moved_data_offset(view, 1), sum, start, out);
  return Done{};
}

Result<Done, SurgeryError> separate_tcp(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                        Buffer& out) {
  if (const auto checked = check_options(view, marker); !checked) return checked;
  const Octets packet = view.octets();
  const std::size_t size = view.payload_offset() + kTcpMarkerSize + message.size();
  if (size > mtu || size > kMaxPacket) return Failure{SurgeryError::exceeds_mtu};

  const auto option = marker_octets(marker);
  Sum sum = sum_without_lengths(view);
  sum.remove(view.payload());
  sum.add(option);
  sum.add(message);

  const std::size_t options = view.transport_offset() + kOptionsAt;
  const std::size_t start = append({packet.first(options), option, view.tcp_options(), message}, out);
  const auto flags_word = static_cast<std::uint16_t>(moved_data_offset(view, 1) & ~(kTcpFin | kTcpPsh));
  finish_tcp(view, flags_word, sum, start, out);
  return Done{};
}

void strip_tcp(const PacketView& view, const Located& located, std::size_t message_size, Buffer& out) {
  const Octets packet = view.octets();
  const Octets message = view.payload().first(message_size);
  const Octets data = view.payload().subspan(message_size);
  const Removal removal = removal_of(view, located);
  const std::size_t behind = removal.offset + removal.size;

  Sum sum = sum_without_lengths(view);
  sum.remove_at(removal.offset - view.transport_offset(), packet.subspan(removal.offset, removal.size));
  sum.remove(message);
  if (message.size() % 2 != 0) sum.shift_by_one_back(data);

  const std::size_t start =
      append({packet.first(removal.offset), packet.subspan(behind, view.payload_offset() - behind), data}, out);
  if (removal.size == 0) {
    const MutableOctets option = MutableOctets(out).subspan(start + located.option_offset, located.option_size);
    const std::size_t at = located.option_offset - view.transport_offset();
    sum.remove_at(at, option);
    for (std::uint8_t& octet : option) octet = kOptionNop;
    sum.add_at(at, option);
  }
  finish_tcp(view, moved_data_offset(view, -static_cast<int>(removal.size / 4)), sum, start, out);
}

/// What no edit is allowed in, whatever the transport.
Result<Done, SurgeryError> check_packet(const PacketView& view) {
  if (!view.is_tcp() && !view.is_udp()) return Failure{SurgeryError::not_a_flow};
  if (view.is_authenticated()) return Failure{SurgeryError::protected_segment};
  return Done{};
}

}  // namespace

Result<Done, SurgeryError> insert_inline(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                         Buffer& out) {
  if (const auto checked = check_packet(view); !checked) return checked;
  return view.is_tcp() ? insert_tcp(view, marker, message, mtu, out) : insert_udp(view, marker, message, mtu, out);
}

Result<Done, SurgeryError> make_separate(const PacketView& view, const Marker& marker, Octets message, std::size_t mtu,
                                         Buffer& out) {
  if (const auto checked = check_packet(view); !checked) return checked;
  return view.is_tcp() ? separate_tcp(view, marker, message, mtu, out) : separate_udp(view, marker, message, mtu, out);
}

void strip(const PacketView& view, const Located& located, std::size_t message_size, Buffer& out) {
  ASRP_ASSERT(located.found() && message_size <= located.message_room);
  if (view.is_tcp()) {
    strip_tcp(view, located, message_size, out);
  } else {
    strip_udp(view, located, out);
  }
}

}  // namespace asrp::packet
