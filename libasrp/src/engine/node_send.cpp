// SPDX-License-Identifier: BSD-3-Clause
// What leaves the node: standalone messages, and packets of flows that are sent on.
#include "engine/node_send.hpp"

#include "asrp/packet/build.hpp"
#include "asrp/packet/checksum.hpp"
#include "asrp/wire/encode.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

void NodeEngine::Impl::send_message(TimePoint now, const Endpoint& from, const Endpoint& to, const wire::Message& message) {
  message_.clear();
  wire::encode(message, message_);
  const std::size_t start = outbox_.mark_start();
  packet::build_datagram(from, to, message_, outbox_.octets());
  outbox_.send(OutputKind::send_own, start);
  event(now, EventKind::message_sent, message.st1, message.type == wire::MsgType::NS ? message.tuples() : TuplePair{},
        to.address, message_detail(message.type, packet::Carriage::standalone));
}

void NodeEngine::Impl::send_flow(Octets packet) {
  const std::size_t start = outbox_.mark_start();
  outbox_.octets().insert(outbox_.octets().end(), packet.begin(), packet.end());
  send_flow_range(start, packet.size());
}

void NodeEngine::Impl::send_flow_held(session::PacketPool::Handle handle) {
  const std::size_t start = outbox_.mark_start();
  packets_.append_to(handle, outbox_.octets());
  send_flow_range(start, packets_.size_of(handle));
}

void NodeEngine::Impl::send_flow_range(std::size_t start, std::size_t size) {
  if (!packet::decrement_ttl(MutableOctets(outbox_.octets()).subspan(start, size))) {
    count(Counter::drops_ttl);
    return;
  }
  outbox_.send_range(OutputKind::send_flow, start, size);
  count(Counter::packets_sent);
}

void NodeEngine::Impl::event(TimePoint now, EventKind kind, const Tuple& flow, const TuplePair& session, const IpAddress& peer,
                             std::string_view detail, Duration latency) {
  events_.on_event({now, kind, flow, session, peer, latency, detail});
}

void NodeEngine::Impl::remember(TimePoint now, const TuplePair& pair, bool told) {
  const Installed installed{pair_tag(pair), told};
  installed_.put(hash(pair.client_side), now, installed);
  installed_.put(hash(pair.server_side), now, installed);
}

void NodeEngine::Impl::remove_flow(const TuplePair& pair) {
  flows_.remove(pair.client_side);
  installed_.erase(hash(pair.client_side));
  installed_.erase(hash(pair.server_side));
}

}  // namespace asrp::engine
