// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: what would be done with a packet, and why; by node_act_decide's decisions.
#include "engine/node_impl.hpp"

namespace asrp::engine {

void NodeEngine::Impl::explain_act(TimePoint now, const Side& side, Explanation& out) const {
  const NatState& nat = *config_->nat();
  out.client = {side.client, nat.ranges.range_of(side.client), clients_->has_no_holder(now, side.client)};
  out.entry = flows_.find(out.packet);
  if (side.is_servers()) {
    out.step = out.entry ? Step::known : decide_act_outside(now, out.packet, out.begins);
  } else {
    explain_act_client(now, side, out);
  }
  if (out.step != Step::ask_client) return;
  if (side.is_clients()) add_asked(now, side.client, "asked: it sent the packet", out);
  for (const IpAddress& client : act_clients_of(out.packet.dst)) {
    const bool has = nat.ranges.client_of(out.packet.dst) == client;
    add_asked(now, client, has ? "asked: the outside endpoint is its" : "asked: the outside endpoint was its", out);
  }
}

void NodeEngine::Impl::explain_act_client(TimePoint now, const Side& side, Explanation& out) const {
  const bool syn = out.packet.protocol == Protocol::tcp && out.begins;
  if (out.entry && !syn) {
    out.step = Step::known;
    return;
  }
  out.step = syn ? decide_act_syn(now, out.packet) : decide_act_client(now, out.packet, out.begins);
  if (out.step != Step::create) return;
  Install install;
  if (!act_map(install, out.packet, side.range)) {
    out.step = Step::exhausted;
  } else if (out.entry && out.entry->tuples.client_side == out.packet && continues(install, *out.entry)) {
    out.step = Step::again;
    out.mapping = out.entry->tuples.server_side.src;
  } else {
    out.mapping = install.flow.tuples.server_side.src;
  }
}

void NodeEngine::Impl::add_asked(TimePoint now, const IpAddress& client, std::string_view reason, Explanation& out) const {
  Explanation::Candidate candidate;
  candidate.server = client.to_string();
  candidate.address = {client, config_->options().port};
  candidate.holder_gone = clients_->has_no_holder(now, client);
  candidate.round = candidate.holder_gone ? 0 : 1;
  candidate.reason = candidate.holder_gone ? "not asked: it has no holder" : reason;
  out.candidates.push_back(std::move(candidate));
}

}  // namespace asrp::engine
