// SPDX-License-Identifier: BSD-3-Clause
// Packets of known sessions that carry an ASRP option, or whose session waits for its NA (Tap::known). The kernel translates
// them; the engine takes messages out.
#include "engine/node_impl.hpp"

namespace asrp::engine {

void NodeEngine::Impl::on_known(TimePoint now, Incoming& in) {
  const Side side = config_->side_of(in.view.tuple());
  switch (side.kind) {
    case Side::Kind::client:
      return known_from_client(now, in, *side.service);
    case Side::Kind::act_client:
      return act_known_from_client(now, in);
    case Side::Kind::act_server:
      return act_known_from_outside(now, in);
    case Side::Kind::server:
    case Side::Kind::none:
      return known_from_server(now, in);
  }
}

void NodeEngine::Impl::known_from_client(TimePoint now, Incoming& in, const ServiceState& service) {
  if (!strip_unwanted(now, in, Counter::discarded_client)) return outbox_.drop(in.id);
  remind(now, in.view.tuple());
  if (go_in_company(now, in, service)) return;
  if (!in.edited) return outbox_.accept(in.id);
  const PacketRef ref = ref_of(in);
  outbox_.replace_range(in.id, ref.start, ref.size);
}

void NodeEngine::Impl::known_from_server(TimePoint now, Incoming& in) {
  const auto found = find_message(now, in.view);
  if (!found) return outbox_.accept(in.id);
  const auto session = verified_ps(now, in, *found);
  if (session) {
    // A PS that tells another story than the entry: the packet would reach the wrong client.
    if (!made_lately(now, *session)) {
      const auto entry = flows_.find(in.view.tuple());
      if (entry && is_outdated(now, *entry, *session)) return known_with_outdated_entry(now, in, *found, *entry, *session);
      if (entry && entry->tuples != *session) {
        refuse_contradiction(now, in);
        return outbox_.drop(in.id);
      }
    }
    acknowledge_by_ps(*session);
  }
  if (found->separate) {
    count(Counter::packets_consumed);
    return outbox_.drop(in.id);
  }
  if (!strip(in, *found)) {
    count(Counter::drops_malformed);
    return outbox_.drop(in.id);
  }
  const PacketRef ref = ref_of(in);
  outbox_.replace_range(in.id, ref.start, ref.size);
}

}  // namespace asrp::engine
