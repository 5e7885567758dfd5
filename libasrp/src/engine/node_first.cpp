// SPDX-License-Identifier: BSD-3-Clause
// Packets that conntrack has not seen (Tap::first): SYNs of clients, and SYN/ACKs of servers that carry a message.
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

void NodeEngine::Impl::on_first(TimePoint now, Incoming& in) {
  const ServiceState* service = in.view.is_icmp() ? nullptr : config_->service_at(in.view.tuple().dst, in.view.protocol());
  if (service == nullptr) {
    if (in.view.is_tcp() && config_->server_of(in.view.tuple())) return first_from_server(now, in);
    count(Counter::drops_no_service);
    return outbox_.drop(in.id);
  }
  if (!strip_client_message(now, in)) return outbox_.drop(in.id);
  if (!in.view.is_tcp_syn()) {  // not the rules' doing; the tap behind conntrack takes it
    if (!in.edited) return outbox_.accept(in.id);
    const PacketRef ref = ref_of(in);
    return outbox_.replace_range(in.id, ref.start, ref.size);
  }
  const Tuple& tuple = in.view.tuple();
  const std::uint32_t pending = find_install(tuple);
  if (pending != kNoSlot) {
    Item item;
    item.packet = ref_of(in);
    item.verdict = in.id;
    item.carries_ns = true;
    return append_item(installs_[pending], item);
  }
  // While a holder is asked which mapping the client's tuple has, a repeated SYN must not make yet another one.
  const std::uint32_t recovery = find_recovery(tuple);
  if (recovery != kNoSlot &&
      (recoveries_[recovery].kind == session::RecoveryKind::conflict || recoveries_[recovery].may_create)) {
    hold(recovery, in.view.octets(), false);
    return outbox_.drop(in.id);
  }
  if (recovery == kNoSlot && ask_former_owner(now, in, *service)) return outbox_.drop(in.id);
  create(now, in, *service);
}

/// A SYN that is sent again after a change of the pool may have opened a connection at the region's former owner already. Made
/// anew at the present one, it would have the client acknowledge to one server what the other one sent (decision 14).
bool NodeEngine::Impl::ask_former_owner(TimePoint now, Incoming& in, const ServiceState& service) {
  if (!changed_lately(now, service)) return false;
  const auto former = service.pool.former_owner(in.view.tuple());
  if (!former) return false;
  const Backend& server = service.options->backends[*former];
  if (server.holder == HolderPresence::no || !may_begin_again(service, server.address)) return false;
  const IpAddress holder = server.address.address;
  // There is no room, or nobody to ask: then it begins a session as everywhere else.
  if (recoveries_.size() >= config_->options().limits.recoveries || counts_as_gone(holder)) return false;
  const std::uint32_t slot = start_recovery(now, session::RecoveryKind::client, in.view.tuple(), true);
  if (slot == kNoSlot) return false;
  add_candidate(recoveries_[slot], holder);
  if (!hold(slot, in.view.octets(), false)) {
    free_recovery(slot);
    return false;
  }
  ask_round(now, slot, 1);
  return true;
}

}  // namespace asrp::engine
