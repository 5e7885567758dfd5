// SPDX-License-Identifier: BSD-3-Clause
#include "decode/sighting.hpp"

#include <algorithm>

#include "asrp/base/limits.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/packet/locate.hpp"
#include "asrp/wire/decode.hpp"
#include "asrp/wire/layout.hpp"
#include "decode/option_walk.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using packet::PacketView;

Reason reason_of(wire::DecodeError error) {
  switch (error) {
    case wire::DecodeError::version:
      return Reason::version;
    case wire::DecodeError::type:
      return Reason::type;
    case wire::DecodeError::sttype:
      return Reason::sttype;
    case wire::DecodeError::length:
      return Reason::length;
    case wire::DecodeError::truncated:
      break;
  }
  return Reason::truncated;
}

/// Octets of the message that must be seen to know of an error. `size`: of the place that the message has.
std::size_t needed_for(Reason reason, std::size_t size) {
  switch (reason) {
    case Reason::version:
      return 1;
    case Reason::type:
      return 2;
    case Reason::sttype:
      return 3;
    case Reason::length:
      return 6;
    default:
      return size < kHeaderSize ? 0 : 6;  // shorter than a header, or than its Length field says
  }
}

Tuple read_tuple(Octets octets, bool is_v6, Protocol protocol) {
  const std::size_t size = is_v6 ? 16 : 4;
  const auto address = [&](std::size_t at) {
    return is_v6 ? IpAddress::v6(octets.subspan(at, size)) : IpAddress::v4(octets.subspan(at, size));
  };
  return Tuple{{address(0), load_u16(octets, 2 * size)}, {address(size), load_u16(octets, 2 * size + 2)}, protocol};
}

void read_header(Octets octets, Sighting& sighting) {
  if (octets.size() < kHeaderSize || octets[0] != kVersion) return;
  sighting.known |= known::kHeader;
  sighting.sttype = static_cast<wire::StType>(octets[2]);
  sighting.raw_flags = octets[3];
  sighting.length = load_u16(octets, 4);
  sighting.reserved = octets[6];
  wire::Message& message = sighting.message;
  message.type = static_cast<wire::MsgType>(octets[1]);
  message.flags = octets[3] & wire::kFlagsAssigned;
  message.protocol = static_cast<Protocol>(octets[7]);
  message.cookie = Cookie{load_u32(octets, 8)};
}

/// The parts that are there of a message that is damaged or cut off: what lies wholly within `octets` and the Length field.
void read_parts(Octets octets, Sighting& sighting) {
  read_header(octets, sighting);
  const auto type = static_cast<std::uint8_t>(sighting.message.type);
  const auto sttype = static_cast<std::uint8_t>(sighting.sttype);
  if (sighting.known == 0 || type >= wire::kMsgTypeCount || sttype >= wire::kStTypeCount) return;
  const wire::StLayout tuples = wire::kStLayouts[sttype];
  if (tuples.tuples != wire::kTypeLayouts[type].tuples) return;
  const std::size_t end = std::min<std::size_t>(octets.size(), sighting.length);
  std::size_t at = kHeaderSize;
  const auto read = [&](bool is_v6, Tuple& tuple, std::uint8_t bit) {
    const std::size_t size = is_v6 ? wire::kSt6Size : wire::kSt4Size;
    if (end < at + size) return false;
    tuple = read_tuple(octets.subspan(at), is_v6, sighting.message.protocol);
    sighting.known |= bit;
    at += size;
    return true;
  };
  if (tuples.tuples == wire::TupleCount::none || !read(tuples.first_v6, sighting.message.st1, known::kSt1)) return;
  if (tuples.tuples == wire::TupleCount::pair) read(tuples.second_v6, sighting.message.st2, known::kSt2);
}

void read_message(const wire::Decoded& decoded, Octets octets, Sighting& sighting) {
  read_header(octets, sighting);
  sighting.claim = Claim::message;
  sighting.message = decoded.message;
  const wire::TypeLayout& layout = wire::kTypeLayouts[static_cast<std::uint8_t>(decoded.message.type)];
  if (layout.tuples != wire::TupleCount::none) sighting.known |= known::kSt1;
  if (layout.tuples == wire::TupleCount::pair) sighting.known |= known::kSt2;
  if (layout.has_node_local_ip) sighting.known |= known::kNodeLocalIp;
  sighting.known |= known::kSessionData;
  for (const std::uint8_t octet : octets.subspan(kHeaderSize, layout.reserved_body)) sighting.reserved |= octet;
}

/// Judges the message in `place`, of which `captured` octets are real. `is_exact`: it has to fill the place.
void judge(Octets place, std::size_t captured, bool is_exact, Sighting& sighting) {
  const auto decoded = is_exact ? wire::decode(place) : wire::decode_prefix(place);
  if (decoded && decoded->size <= captured) {
    sighting.octets = place.first(decoded->size);
    read_message(*decoded, sighting.octets, sighting);
    return;
  }
  sighting.octets = place.first(std::min(captured, place.size()));
  read_parts(sighting.octets, sighting);
  const Reason reason = decoded ? Reason::none : reason_of(decoded.error());
  if (decoded || captured < needed_for(reason, place.size())) {
    sighting.claim = Claim::cut;
  } else {
    sighting.claim = Claim::invalid;
    sighting.reason = reason;
  }
}

std::size_t captured_of(std::size_t captured, std::size_t offset) { return captured - std::min(captured, offset); }

Sighting in_tcp(const PacketView& view, std::size_t captured, const packet::Marker& marker) {
  const OptionSearch search = find_tcp_option(view, captured, marker);
  Sighting sighting;
  if (search.status == OptionStatus::none) return sighting;
  sighting.offset = view.payload_offset();
  const std::size_t real = captured_of(captured, sighting.offset);
  if (search.status == OptionStatus::malformed) {
    sighting.octets = view.payload().first(std::min(real, view.payload_size()));
    sighting.claim = Claim::invalid;
    sighting.reason = Reason::option;
    read_parts(sighting.octets, sighting);
  } else {
    judge(view.payload(), real, false, sighting);
  }
  // The whole of a segment, or with a Length field that reaches beyond it, leaves nothing of the flow.
  const bool has_length = (sighting.known & known::kHeader) != 0 && sighting.length >= kHeaderSize;
  const std::size_t size = sighting.claim == Claim::message ? sighting.octets.size() : has_length ? sighting.length : 0;
  sighting.carriage = packet::is_separate(view, size) ? Carriage::separate_tcp : Carriage::inline_tcp;
  return sighting;
}

Sighting in_surplus(const PacketView& view, std::size_t captured, const packet::Marker& marker) {
  const OptionSearch search = find_udp_option(view, captured, marker);
  Sighting sighting;
  if (search.status == OptionStatus::none) return sighting;
  sighting.carriage = packet::is_separate(view, 0) ? Carriage::separate_udp : Carriage::inline_udp;
  sighting.offset = search.message_offset;
  const std::size_t real = captured_of(captured, sighting.offset);
  const Octets place = view.octets().subspan(search.message_offset, search.message_room);
  if (search.status == OptionStatus::found) {
    judge(place, real, true, sighting);
    return sighting;
  }
  sighting.octets = place.first(std::min(real, place.size()));
  read_parts(sighting.octets, sighting);
  const bool is_cut = search.status == OptionStatus::cut;
  sighting.claim = is_cut ? Claim::cut : Claim::invalid;
  if (!is_cut) sighting.reason = search.status == OptionStatus::bad_ocs ? Reason::ocs : Reason::option;
  return sighting;
}

/// A datagram to ASRP-PORT. The port is an ephemeral one for everybody else: what isn't of a known version and type need not be
/// a damaged message.
Sighting in_datagram(const PacketView& view, std::size_t captured) {
  Sighting sighting;
  sighting.carriage = Carriage::standalone;
  sighting.offset = view.payload_offset();
  const Octets payload = view.payload();
  const std::size_t real = std::min(captured_of(captured, sighting.offset), payload.size());
  judge(payload, real, true, sighting);
  if (sighting.claim != Claim::invalid) return sighting;
  const bool is_known = payload.size() >= 2 && payload[0] == kVersion && payload[1] < wire::kMsgTypeCount;
  if (is_known) return sighting;
  sighting.claim = Claim::not_asrp;
  sighting.known = 0;
  return sighting;
}

}  // namespace

Sighting find_sighting(const PacketView& view, std::size_t captured, const packet::Marker& marker, std::uint16_t port) {
  if (view.is_tcp()) return in_tcp(view, captured, marker);
  if (!view.is_udp()) return {};
  const Sighting sighting = in_surplus(view, captured, marker);
  return sighting.present() ? sighting : find_standalone(view, captured, port);
}

Sighting find_standalone(const PacketView& view, std::size_t captured, std::uint16_t port) {
  const Tuple& tuple = view.tuple();
  if (tuple.dst.port != port && tuple.src.port != port) return {};
  const Sighting sighting = in_datagram(view, captured);
  // An answer with the ports swapped is wrong, but a message. All else from the port is what a program sends that was given it.
  return tuple.dst.port == port || sighting.claim == Claim::message ? sighting : Sighting{};
}

}  // namespace asrp::dump
