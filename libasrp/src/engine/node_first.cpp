// SPDX-License-Identifier: BSD-3-Clause
// Packets that conntrack has not seen (Tap::first): SYNs of clients, and SYN/ACKs of servers that carry a message.
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

void NodeEngine::Impl::on_first(TimePoint now, Incoming& in) {
  const Side side = in.view.is_icmp() ? Side{} : config_->side_of(in.view.tuple());
  switch (side.kind) {
    case Side::Kind::client:
      return first_from_client(now, in, *side.service);
    case Side::Kind::server:
      if (in.view.is_tcp()) return first_from_server(now, in);
      break;
    case Side::Kind::act_client:
      return act_first(now, in, side);
    case Side::Kind::act_server:  // the rules take none there
    case Side::Kind::none:
      break;
  }
  count_foreign();
  outbox_.drop(in.id);
}

void NodeEngine::Impl::first_from_client(TimePoint now, Incoming& in, const ServiceState& service) {
  if (!strip_unwanted(now, in, Counter::discarded_client)) return outbox_.drop(in.id);
  if (!in.view.is_tcp_syn()) {  // not the rules' doing; the tap behind conntrack takes it
    if (!in.edited) return outbox_.accept(in.id);
    const PacketRef ref = ref_of(in);
    return outbox_.replace_range(in.id, ref.start, ref.size);
  }
  const Tuple& tuple = in.view.tuple();
  switch (decide_syn(now, service, tuple)) {
    case Step::join_install: {
      Item item;
      item.packet = ref_of(in);
      item.verdict = in.id;
      item.carries_ns = true;
      return append_item(installs_[find_install(tuple)], item);
    }
    case Step::join_recovery:
      hold(find_recovery(tuple), in.view.octets(), false);
      return outbox_.drop(in.id);
    case Step::ask_former_owner:
      if (ask_former_owner(now, in, service)) return outbox_.drop(in.id);
      break;
    default:
      break;
  }
  create(now, in, service);
}

/// A SYN that is sent again after a change of the pool may have opened a connection at the region's former owner already. Made
/// anew at the present one, it would have the client acknowledge to one server what the other one sent (decision 14).
bool NodeEngine::Impl::ask_former_owner(TimePoint now, Incoming& in, const ServiceState& service) {
  const auto former = former_to_ask(now, service, in.view.tuple());
  if (!former) return false;
  const IpAddress holder = service.options->backends[*former].address.address;
  const std::uint32_t slot = start_recovery(now, session::RecoveryKind::client, in.view.tuple(), true);
  if (slot == kNoSlot) return false;
  recoveries_[slot].begins_with_syn = true;
  add_candidate(recoveries_[slot], holder);
  if (!hold(slot, in.view.octets(), false)) {
    free_recovery(slot);
    return false;
  }
  ask_round(now, slot, 1);
  return true;
}

}  // namespace asrp::engine
