// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/wire/encode.hpp"

#include "asrp/base/assert.hpp"
#include "asrp/base/limits.hpp"
#include "asrp/wire/layout.hpp"

namespace asrp::wire {
namespace {

const TypeLayout& layout_of(const Message& message) {
  const auto number = static_cast<std::uint8_t>(message.type);
  ASRP_ASSERT(number < kMsgTypeCount);
  return kTypeLayouts[number];
}

std::size_t st_size(const Tuple& tuple) { return tuple.family() == Family::v6 ? kSt6Size : kSt4Size; }

StType st_type(const Message& message, TupleCount count) {
  const bool first_v6 = message.st1.family() == Family::v6;
  const bool second_v6 = message.st2.family() == Family::v6;
  switch (count) {
    case TupleCount::none:
      return StType::null;
    case TupleCount::one:
      return first_v6 ? StType::ST6 : StType::ST4;
    default:
      if (first_v6) return second_v6 ? StType::ST66 : StType::ST64;
      return second_v6 ? StType::ST46 : StType::ST44;
  }
}

std::uint8_t flags_of(const Message& message) {
  const bool lip6 = layout_of(message).has_node_local_ip && !message.node_local_ip.is_v4();
  const auto others = static_cast<std::uint8_t>(message.flags & (kFlagsAssigned & ~kFlagLip6));
  return static_cast<std::uint8_t>(others | (lip6 ? kFlagLip6 : 0));
}

void encode_tuple(const Tuple& tuple, ByteWriter& out) {
  ASRP_ASSERT(tuple.src.address.family() == tuple.dst.address.family());
  out.octets(tuple.src.address.octets());
  out.octets(tuple.dst.address.octets());
  out.u16(tuple.src.port);
  out.u16(tuple.dst.port);
}

}  // namespace

std::size_t encoded_size(const Message& message) {
  const TypeLayout& layout = layout_of(message);
  std::size_t size = kHeaderSize + layout.reserved_body;
  if (layout.tuples != TupleCount::none) size += st_size(message.st1);
  if (layout.tuples == TupleCount::pair) size += st_size(message.st2);
  if (layout.has_node_local_ip) size += message.node_local_ip.octets().size();
  if (message.type != MsgType::HS) size += message.session_data.size();
  return size;
}

void encode(const Message& message, Buffer& out) {
  const TypeLayout& layout = layout_of(message);
  const std::size_t size = encoded_size(message);
  ASRP_ASSERT(size <= 0xffff);
  ByteWriter writer(out);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(message.type));
  writer.u8(static_cast<std::uint8_t>(st_type(message, layout.tuples)));
  writer.u8(flags_of(message));  // spec: 4.1-1
  writer.u16(static_cast<std::uint16_t>(size));
  writer.u8(0);  // Reserved; spec: 4.1-2
  writer.u8(static_cast<std::uint8_t>(message.protocol));
  writer.u32(message.cookie.value);
  writer.zeros(layout.reserved_body);
  // spec: 4.1.2-1, 4.1.2-2
  if (layout.tuples != TupleCount::none) encode_tuple(message.st1, writer);
  if (layout.tuples == TupleCount::pair) encode_tuple(message.st2, writer);
  if (message.type != MsgType::HS) writer.octets(message.session_data);
  if (layout.has_node_local_ip) writer.octets(message.node_local_ip.octets());
}

}  // namespace asrp::wire
