// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/decode.hpp"

#include "asrp/base/limits.hpp"
#include "asrp/wire/layout.hpp"

namespace asrp::wire {
namespace {

constexpr std::size_t st_size(bool is_v6) { return is_v6 ? kSt6Size : kSt4Size; }

/// The header's fields, as they are on the wire (4.1.1).
struct Header {
  MsgType type;
  StLayout tuples;
  std::uint8_t flags;
  std::size_t length;
  Protocol protocol;
  Cookie cookie;
};

Result<Header, DecodeError> decode_header(Octets octets) {
  if (octets.size() < kHeaderSize) return Failure{DecodeError::truncated};
  const FixedReader<kHeaderSize> in(octets);
  if (in.u8<0>() != kVersion) return Failure{DecodeError::version};
  if (in.u8<1>() >= kMsgTypeCount) return Failure{DecodeError::type};
  if (in.u8<2>() >= kStTypeCount) return Failure{DecodeError::sttype};
  const StLayout tuples = kStLayouts[in.u8<2>()];
  if (tuples.tuples != kTypeLayouts[in.u8<1>()].tuples) return Failure{DecodeError::sttype};
  // Unassigned flags fall away here, and Reserved (octet 6) is not read. spec: 4.1-1, 4.1-2
  return Header{static_cast<MsgType>(in.u8<1>()),
                tuples,
                static_cast<std::uint8_t>(in.u8<3>() & kFlagsAssigned),
                in.u16<4>(),
                static_cast<Protocol>(in.u8<7>()),
                Cookie{in.u32<8>()}};
}

/// What a body has besides Session-Data. HS is fixed, so its Session-Data is always empty.
struct BodySizes {
  std::size_t front;  // tuples, or the reserved octets of HS
  std::size_t back;   // Node-Local-IP
};

BodySizes body_sizes(const Header& header) {
  const TypeLayout& layout = kTypeLayouts[static_cast<std::uint8_t>(header.type)];
  BodySizes sizes{layout.reserved_body, 0};
  if (layout.tuples != TupleCount::none) sizes.front += st_size(header.tuples.first_v6);
  if (layout.tuples == TupleCount::pair) sizes.front += st_size(header.tuples.second_v6);
  if (layout.has_node_local_ip) sizes.back = (header.flags & kFlagLip6) != 0 ? 16 : 4;
  return sizes;
}

/// Precondition: a whole ST4 or ST6 is there.
Tuple decode_tuple(Octets octets, bool is_v6, Protocol protocol) {
  const std::size_t address = is_v6 ? 16 : 4;
  const auto read = [&](std::size_t at) {
    return is_v6 ? IpAddress::v6(octets.subspan(at, address)) : IpAddress::v4(octets.subspan(at, address));
  };
  return Tuple{{read(0), load_u16(octets, 2 * address)}, {read(address), load_u16(octets, 2 * address + 2)}, protocol};
}

/// Precondition: `octets` are the whole message, `sizes` fit into it.
Message decode_body(const Header& header, BodySizes sizes, Octets octets) {
  const TypeLayout& layout = kTypeLayouts[static_cast<std::uint8_t>(header.type)];
  Message message;
  message.type = header.type;
  message.flags = header.flags;
  message.protocol = header.protocol;
  message.cookie = header.cookie;
  const Octets body = octets.subspan(kHeaderSize);
  if (layout.tuples != TupleCount::none) message.st1 = decode_tuple(body, header.tuples.first_v6, header.protocol);
  if (layout.tuples == TupleCount::pair) {
    message.st2 = decode_tuple(body.subspan(st_size(header.tuples.first_v6)), header.tuples.second_v6, header.protocol);
  }
  message.session_data = body.subspan(sizes.front, body.size() - sizes.front - sizes.back);
  const Octets local_ip = body.last(sizes.back);
  if (sizes.back == 16) message.node_local_ip = IpAddress::v6(local_ip);
  if (sizes.back == 4) message.node_local_ip = IpAddress::v4(local_ip);
  return message;
}

/// Length is known to be what the carrier allows; checks it against what the type carries.
Result<Decoded, DecodeError> decode_checked(const Header& header, Octets octets) {
  const BodySizes sizes = body_sizes(header);
  const std::size_t least = kHeaderSize + sizes.front + sizes.back;
  if (header.length < least) return Failure{DecodeError::length};
  if (header.type == MsgType::HS && header.length != least) return Failure{DecodeError::length};
  return Decoded{decode_body(header, sizes, octets.first(header.length)), header.length};
}

}  // namespace

Result<Decoded, DecodeError> decode(Octets octets) {
  const auto header = decode_header(octets);
  if (!header) return Failure{header.error()};
  if (header->length != octets.size()) return Failure{DecodeError::length};
  return decode_checked(*header, octets);
}

Result<Decoded, DecodeError> decode_prefix(Octets octets) {
  const auto header = decode_header(octets);
  if (!header) return Failure{header.error()};
  if (header->length > octets.size()) return Failure{DecodeError::truncated};
  return decode_checked(*header, octets);
}

}  // namespace asrp::wire
