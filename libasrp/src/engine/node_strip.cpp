// SPDX-License-Identifier: BSD-3-Clause
// Messages that travel in packets of flows: found, judged, and taken out (draft 4.2.1, 4.3.1).
#include "asrp/packet/surgery.hpp"
#include "engine/node_impl.hpp"
#include "engine/node_send.hpp"

namespace asrp::engine {
NodeCounter decode_reason(wire::DecodeError error) {
  switch (error) {
    case wire::DecodeError::truncated:
      return NodeCounter::discarded_truncated;
    case wire::DecodeError::version:
      return NodeCounter::discarded_version;
    case wire::DecodeError::type:
      return NodeCounter::discarded_type;
    case wire::DecodeError::sttype:
      return NodeCounter::discarded_sttype;
    case wire::DecodeError::length:
      return NodeCounter::discarded_length;
  }
  return NodeCounter::discarded_type;
}

std::optional<NodeEngine::Impl::Found> NodeEngine::Impl::find_message(TimePoint now, const packet::PacketView& view) {
  Found found;
  found.located = packet::locate(view, config_->options().marker);
  switch (found.located.status) {
    case packet::LocateStatus::none:
      return std::nullopt;
    case packet::LocateStatus::bad_option:
      discard(now, Counter::discarded_option, view.tuple(), view.tuple().src.address);
      return std::nullopt;
    case packet::LocateStatus::bad_ocs:
      discard(now, Counter::discarded_ocs, view.tuple(), view.tuple().src.address);
      return std::nullopt;
    case packet::LocateStatus::found:
      break;
  }
  const Octets room = found.located.room(view);
  const auto decoded = view.is_tcp() ? wire::decode_prefix(room) : wire::decode(room);
  // spec: 4.3.1-1 what fails a check is discarded. How long it is can't be known in TCP, so the option alone goes.
  if (!decoded) {
    discard(now, decode_reason(decoded.error()), view.tuple(), view.tuple().src.address);
    found.size = view.is_tcp() ? 0 : room.size();
    return found;
  }
  found.size = decoded->size;
  found.message = decoded->message;
  found.separate = packet::is_separate(view, found.size);
  const bool tcp = view.is_tcp();
  const packet::Carriage carriage = found.separate ? (tcp ? packet::Carriage::separate_tcp : packet::Carriage::separate_udp)
                                                   : (tcp ? packet::Carriage::inline_tcp : packet::Carriage::inline_udp);
  count_received(now, decoded->message, carriage, view.tuple().src.address);
  return found;
}

// spec: 4.2.1-1 removed before the packet goes on; sequence numbers stay
bool NodeEngine::Impl::strip(Incoming& in, const Found& found) {
  scratch_.clear();
  packet::strip(in.view, found.located, found.size, scratch_);
  const auto view = packet::PacketView::parse(scratch_);
  if (!view) return false;
  in.view = *view;
  in.edited = true;
  count(Counter::packets_stripped);
  return true;
}

// Nothing from the untrusted side is processed: clients in PSV mode (decision 9), everybody outside in ACT mode.
bool NodeEngine::Impl::strip_unwanted(TimePoint now, Incoming& in, Counter reason) {
  const auto found = find_message(now, in.view);
  if (!found) return true;
  if (found->message) discard(now, reason, in.view.tuple(), in.view.tuple().src.address);
  if (found->separate) {
    count(Counter::packets_consumed);
    return false;
  }
  if (strip(in, *found)) return true;
  count(Counter::drops_malformed);
  return false;
}

// spec: 4.3.10-2 4.3.2-6 the echoed cookie is verified by recomputation over the tuples that the PS carries
// spec: 5-1 5-2 5-3 and the session must be one that this cluster can have
std::optional<TuplePair> NodeEngine::Impl::verified_ps(TimePoint now, const Incoming& in, const Found& found) {
  const Tuple& tuple = in.view.tuple();
  if (!found.message) return std::nullopt;
  const wire::Message& message = *found.message;
  const auto refuse = [&](Counter reason) {
    discard(now, reason, tuple, tuple.src.address);
    return std::nullopt;
  };
  if (message.type != wire::MsgType::PS) return refuse(Counter::discarded_unexpected);
  if (message.protocol != tuple.protocol) return refuse(Counter::discarded_protocol);
  // spec: 4.3.10-1 its packet has the addresses and ports of the server's own packets
  if (message.st2.reversed() != tuple) return refuse(Counter::discarded_tuple);
  if (!config_->cookies().verify(message.tuples(), message.cookie)) return refuse(Counter::discarded_cookie);
  if (!config_->may_exist(message.tuples())) return refuse(Counter::discarded_illegitimate);
  return message.tuples();
}

void NodeEngine::Impl::refuse_contradiction(TimePoint now, const Incoming& in) {
  discard(now, Counter::discarded_entry, in.view.tuple(), in.view.tuple().src.address);
  count(Counter::drops_conflict);
}

}  // namespace asrp::engine
