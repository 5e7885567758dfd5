// SPDX-License-Identifier: BSD-3-Clause
// What came in, and what of it is taken (draft 4.2.1, 4.3.1; decisions 17, 20, 21). A message that is not taken is discarded
// silently and counted; whatever happens to it, none of its octets reaches an application.
#include <algorithm>

#include "engine/holder_impl.hpp"
#include "engine/message_detail.hpp"

namespace asrp::engine {
namespace {

constexpr std::size_t kLengthOffset = 4;  // of the Length field in the header, draft 4.1.1

HolderCounter counter_of(wire::DecodeError error) {
  switch (error) {
    case wire::DecodeError::truncated:
      return HolderCounter::discarded_truncated;
    case wire::DecodeError::version:
      return HolderCounter::discarded_version;
    case wire::DecodeError::type:
      return HolderCounter::discarded_type;
    case wire::DecodeError::sttype:
      return HolderCounter::discarded_sttype;
    case wire::DecodeError::length:
      break;
  }
  return HolderCounter::discarded_length;
}

/// How many octets at the head of a segment's data a message took that did not pass validation; 0 if nobody can know: the
/// header of another version may look different, and a Length that fits neither its message nor the segment means nothing.
std::size_t extent_of_invalid(wire::DecodeError error, Octets room) {
  if (error != wire::DecodeError::type && error != wire::DecodeError::sttype) return 0;
  const std::size_t length = load_u16(room, kLengthOffset);
  return length >= kHeaderSize && length <= room.size() ? length : 0;
}

/// Headers that keep us from seeing where the message is, in a packet that a stack might still make sense of.
bool may_hide_message(packet::PacketError error) {
  switch (error) {
    case packet::PacketError::truncated:
    case packet::PacketError::ip_version:
    case packet::PacketError::protocol:
    case packet::PacketError::udp_length:
      return false;
    case packet::PacketError::ip_header:
    case packet::PacketError::extension:
    case packet::PacketError::fragment:
    case packet::PacketError::tcp_header:
      break;
  }
  return true;
}

packet::Carriage carriage_of(const packet::PacketView& view, bool separate) {
  if (view.is_tcp()) return separate ? packet::Carriage::separate_tcp : packet::Carriage::inline_tcp;
  return separate ? packet::Carriage::separate_udp : packet::Carriage::inline_udp;
}

bool has_unspecified(const Tuple& tuple) {
  const auto unspecified = [](const Endpoint& e) { return e.port == 0 || e.address.is_unspecified(); };
  return unspecified(tuple.src) || unspecified(tuple.dst);
}

}  // namespace

void HolderEngine::Impl::read_inbound(TimePoint now, HolderInput& input, Octets packet) {
  const auto parsed = packet::PacketView::parse(packet);
  if (!parsed) {
    count(HolderCounter::packets_unreadable);
    input.kind = may_hide_message(parsed.error()) ? Kind::drop : Kind::pass;
    return;
  }
  const packet::PacketView& view = *parsed;
  input.view = view;
  if (!view.is_tcp() && !view.is_udp()) return count(HolderCounter::packets_untouched);
  if (!is_local(view.tuple().dst.address)) return count(HolderCounter::packets_forwarded);
  input.located = packet::locate(view, options.marker);
  switch (input.located.status) {
    case packet::LocateStatus::none:
      return count(HolderCounter::packets_untouched);
    case packet::LocateStatus::bad_option:
      refuse(now, input, HolderCounter::discarded_option);
      break;
    case packet::LocateStatus::bad_ocs:
      refuse(now, input, HolderCounter::discarded_ocs);
      break;
    case packet::LocateStatus::found:
      if (ready) return read_message(now, input);
      refuse(now, input, HolderCounter::discarded_start);
      break;
  }
  // A datagram's surplus area is invisible to applications; a segment's data is not.
  if (view.is_udp()) return count(HolderCounter::packets_untouched);
  count(ready ? HolderCounter::packets_dropped_message : HolderCounter::packets_dropped_start);
  input.kind = Kind::drop;
}

void HolderEngine::Impl::read_message(TimePoint now, HolderInput& input) {
  const packet::PacketView& view = *input.view;
  const Octets room = input.located.room(view);
  const auto decoded = view.is_tcp() ? wire::decode_prefix(room) : wire::decode(room);
  if (!decoded) {  // spec: 4.3.1-1
    refuse(now, input, counter_of(decoded.error()));
    input.message_size = view.is_tcp() ? extent_of_invalid(decoded.error(), room) : room.size();
    if (input.message_size == 0) {
      count(HolderCounter::packets_dropped_message);
      input.kind = Kind::drop;
      return;
    }
  } else {
    input.message = decoded->message;
    input.message_size = decoded->size;
  }
  input.kind = Kind::strip;
  input.is_separate = packet::is_separate(view, input.message_size);
  input.carriage = carriage_of(view, input.is_separate);
  if (!decoded) return;
  count_received(now, input, view.tuple().src.address);
  if (accepts(now, input)) input.kind = Kind::store;
}

// Reads a datagram to ASRP-PORT. Only nodes may ask and tell: an answer names a session's endpoints.
void HolderEngine::Impl::read_standalone(TimePoint now, const Endpoint& from, const Endpoint& to, Octets octets) {
  HolderInput input;
  input.from = from;
  input.to = to;
  if (!ready) return refuse(now, input, HolderCounter::discarded_start);
  const auto is_among = [&](const std::vector<Prefix>& senders) {
    return std::any_of(senders.begin(), senders.end(), [&](const Prefix& prefix) { return prefix.contains(from.address); });
  };
  input.is_from_node = is_among(options.nodes);
  input.is_from_gateway = act() != nullptr && is_among(options.act.gateways);
  if (!input.is_from_node && !input.is_from_gateway) return refuse(now, input, HolderCounter::discarded_sender);
  const auto decoded = wire::decode(octets);
  if (!decoded) return refuse(now, input, counter_of(decoded.error()));  // spec: 4.3.1-1
  input.message = decoded->message;
  count_received(now, input, from.address);
  if (input.message.type == wire::MsgType::QS) {
    input.kind = Kind::query;
  } else if (accepts(now, input)) {
    input.kind = Kind::store;
    ++input.book->stores;
  } else {
    return;
  }
  input.data_is_held = true;
  input.held_offset = held_octets.size();
  const Octets data = input.message.session_data;
  held_octets.insert(held_octets.end(), data.begin(), data.end());
  inputs.push_back(input);
}

/// Whether an NS names a session of this host as a client.
bool HolderEngine::Impl::is_of_client(const wire::Message& ns) { return act() != nullptr && is_local(ns.st1.src.address); }

/// True for an NS that this holder stores (decision 20), in the book that is set then. Where this host is at both ends of the
/// session, an HS of its own that is outstanding decides.
bool HolderEngine::Impl::accepts(TimePoint now, HolderInput& input) {
  const wire::Message& m = input.message;
  const auto refused = [&](HolderCounter reason) {
    refuse(now, input, reason);
    return false;
  };
  if (m.type != wire::MsgType::NS) return refused(HolderCounter::discarded_unexpected);
  if (m.protocol != Protocol::tcp && m.protocol != Protocol::udp) return refused(HolderCounter::discarded_protocol);
  if (has_unspecified(m.st1) || has_unspecified(m.st2)) return refused(HolderCounter::discarded_unspecified);
  if (answers_hello(now, input)) {
    input.book = act();
  } else if (input.has_packet || input.is_from_node) {
    input.book = &psv();
    if (!is_local(m.st2.dst.address))
      return refused(is_of_client(m) ? HolderCounter::discarded_hello : HolderCounter::discarded_address);
    if (input.has_packet && m.st2 != input.view->tuple()) return refused(HolderCounter::discarded_tuple);
  } else {
    return refused(HolderCounter::discarded_hello);
  }
  if (m.session_data.size() > kMaxSessionData) return refused(HolderCounter::discarded_session_data);
  return true;
}

void HolderEngine::Impl::refuse(TimePoint now, const HolderInput& input, HolderCounter reason) {
  count(reason);
  Event event{.at = now, .kind = EventKind::message_discarded, .detail = info(reason).name};
  if (input.view) event.flow = input.view->tuple();
  event.peer = input.view ? event.flow.src.address : input.from.address;
  events.on_event(event);
}

void HolderEngine::Impl::count_received(TimePoint now, const HolderInput& input, const IpAddress& peer) {
  const auto first = static_cast<std::uint16_t>(HolderCounter::received_ns);
  count(static_cast<HolderCounter>(first + static_cast<std::uint16_t>(input.message.type)));
  events.on_event({.at = now,
                   .kind = EventKind::message_received,
                   .flow = input.message.st1,
                   .session = input.message.tuples(),
                   .peer = peer,
                   .detail = message_detail(input.message.type, input.carriage)});
}

}  // namespace asrp::engine
