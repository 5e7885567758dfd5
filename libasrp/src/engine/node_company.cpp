// SPDX-License-Identifier: BSD-3-Clause
// Full NAT: until the holder has answered, the mapping may be another session's, and its holder hands nothing on that it
// answers with NC (draft 4.3.3). So what is to pass takes the NS along, or waits. A first packet whose NS went apart waits: a
// SYN that met another client's session would draw an answer whose RST ends that session. Each datagram that follows the first
// one takes the NS along. TCP needs this not: a client sends nothing between its SYN and the server's answer.
#include "engine/node_impl.hpp"

namespace asrp::engine {

bool NodeEngine::Impl::needs_company(const Install& install) const {
  return install.plan != NsPlan::none && chooses_port(install) && install.flow.tuples.client_side.protocol == Protocol::udp;
}

/// Once its NS is on its way and its session is among those that wait for their NA.
bool NodeEngine::Impl::has_to_wait(const Install& install) const {
  return install.plan == NsPlan::standalone && chooses_port(install) &&
         find_waiting(install.flow.tuples.client_side) != session::kNoSlot;
}

void NodeEngine::Impl::hold_first(TimePoint now, Install& install) {
  const Item& item = items_[install.first_item];
  if (item.verdict) outbox_.drop(*item.verdict);
  count(keep_attempt(now, install, true) ? Counter::packets_held : Counter::drops_unchecked);
}

/// The holder has the session, or nobody will say: what was held goes on.
void NodeEngine::Impl::pass_attempt(const TuplePair& tuples) {
  const std::uint32_t slot = find_attempt(tuples.client_side);
  if (slot == session::kNoSlot || attempts_[slot].tuples != tuples) return;
  if (attempts_[slot].held) send_flow_held(attempts_[slot].packet);
  packets_.release(attempts_[slot].packet);
  forget_attempt(slot);
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
  count_inline_ns(now, carrier.flow.tuples);
  return true;
}

}  // namespace asrp::engine
