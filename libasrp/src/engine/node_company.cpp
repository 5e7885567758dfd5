// SPDX-License-Identifier: BSD-3-Clause
// Full NAT, UDP: until the holder has answered, the mapping may be another session's. Each datagram that follows the first one
// takes the NS along, so that the holder hands none on that it would have answered with NC (draft 4.3.3). TCP needs this not: a
// client sends nothing between its SYN and the server's answer.
#include "asrp/wire/message.hpp"
#include "engine/node_impl.hpp"
#include "engine/node_send.hpp"

namespace asrp::engine {

bool NodeEngine::Impl::needs_company(const Install& install) const {
  return install.service->rule.full_nat && install.plan == NsPlan::inline_ready &&
         install.flow.tuples.client_side.protocol == Protocol::udp;
}

bool NodeEngine::Impl::go_in_company(TimePoint now, Incoming& in, const ServiceState& service) {
  if (!service.rule.full_nat || !in.view.is_udp()) return false;
  const std::uint32_t slot = find_waiting(in.view.tuple());
  if (slot == session::kNoSlot || waiting_[slot].was_unprotected) return false;
  Install carrier;
  carrier.flow.tuples = waiting_[slot].tuples;
  carrier.ack_wanted = true;
  if (!prepare_inline(carrier, in.view.octets())) {
    count(Counter::drops_unchecked);
    outbox_.drop(in.id);
    return true;
  }
  outbox_.replace_range(in.id, carrier.ns_start, carrier.ns_size);
  count(Counter::sent_ns_inline_udp);
  const TuplePair& tuples = carrier.flow.tuples;
  event(now, EventKind::message_sent, tuples.client_side, tuples, tuples.server_side.dst.address,
        message_detail(wire::MsgType::NS, packet::Carriage::inline_udp));
  return true;
}

}  // namespace asrp::engine
