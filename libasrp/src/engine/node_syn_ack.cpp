// SPDX-License-Identifier: BSD-3-Clause
// SYN/ACKs of servers that carry a message, taken before conntrack has seen them (Tap::first). Under asymmetric routing, and
// with full NAT behind ECMP, each new session has one; through the taps behind conntrack it would have to be dropped and
// injected.
#include "engine/node_impl.hpp"

namespace asrp::engine {

// A server's SYN/ACK with a message, which conntrack has not seen. Its PS makes the session as a client's SYN does: the packet
// itself goes on with the entry, and nothing is injected. Whatever has no session to prove goes on without its message; the
// taps behind conntrack take it if it is a stray.
void NodeEngine::Impl::first_from_server(TimePoint now, Incoming& in) {
  const auto found = find_message(now, in.view);
  if (!found) return outbox_.accept(in.id);
  const auto session = verified_ps(now, in, *found);
  const std::uint32_t pending = find_install(in.view.tuple());
  if (session && pending != session::kNoSlot && installs_[pending].flow.tuples != *session) {
    refuse_contradiction(now, in);
    return outbox_.drop(in.id);
  }
  if (!found->separate && !strip(in, *found)) {
    count(Counter::drops_malformed);
    return outbox_.drop(in.id);
  }
  std::uint32_t install = pending;
  if (session && pending == session::kNoSlot) {
    if (made_lately(now, *session)) {
      acknowledge_by_ps(*session);
    } else {
      install = restore_by_ps(in, *session);
    }
  }
  if (found->separate) {
    count(Counter::packets_consumed);
    return outbox_.drop(in.id);
  }
  const PacketRef ref = ref_of(in);
  if (!session || install == session::kNoSlot) return outbox_.replace_range(in.id, ref.start, ref.size);
  Item item;
  item.packet = ref;
  item.verdict = in.id;
  append_item(installs_[install], item);
}

/// Whether this node has made an entry for `session` within the last second: no need to try it again. If it is gone since, the
/// packet is a stray behind conntrack.
bool NodeEngine::Impl::made_lately(TimePoint now, const TuplePair& session) {
  const Installed* installed = installed_.find(hash(session.server_side), now, std::chrono::seconds(1));
  return installed != nullptr && installed->pair == pair_tag(session);
}

}  // namespace asrp::engine
