// SPDX-License-Identifier: BSD-3-Clause
// What would be done with a packet, and why: the decisions of node_decide.cpp and server_choice.cpp, with what they went by.
#include <algorithm>
#include <array>

#include "engine/node_impl.hpp"

namespace asrp::engine {
namespace {

/// For a copy of a selector whose draws mean nothing.
class NoChance final : public RandomSource {
 public:
  void fill(MutableOctets out) override { std::fill(out.begin(), out.end(), std::uint8_t{0}); }
};

std::string_view why_not_chosen(const ServiceState& service, std::uint16_t backend, bool by_chance) {
  switch (service.states[backend]) {
    case ServerState::drained:
      return "drained by the operator";
    case ServerState::down:
      return "held for down by health checks";
    case ServerState::usable:
      break;
  }
  if (by_chance) return "can be drawn";
  return service.options->policy == policy::SelectionPolicy::hash ? "usable, behind the one that is chosen"
                                                                  : "usable, the policy prefers another";
}

std::string_view why_chosen(const ServerChoice& choice) {
  if (choice.all_down) return "every server is held for down: the first one, as if none were";
  return choice.outside_list ? "the next rank that is usable: none of the list is" : "chosen";
}

}  // namespace

Explanation NodeEngine::Impl::explain(TimePoint now, const Tuple& packet, bool begins) const {
  Explanation out;
  out.packet = packet;
  out.begins = begins;
  const Side side = config_->side_of(packet);
  if (side.is_act()) explain_act(now, side, out);
  if (side.is_act() || side.kind == Side::Kind::none) return out;
  const ServiceState& known = *side.service;
  out.service = known.options->name;
  out.pool = known.options->pool;
  out.policy = known.options->policy;
  out.entry = flows_.find(packet);
  if (side.is_clients()) {
    explain_client(now, known, out);
    return out;
  }
  out.step = out.entry ? Step::known : decide_server(now, packet);
  if (out.step != Step::ask_sender) return out;
  Explanation::Candidate candidate = describe(now, known, side.backend);
  candidate.round = candidate.holder == HolderPresence::no ? 0 : 1;
  candidate.reason = candidate.round == 0 ? "not asked: it has no holder" : "asked: it sent the packet";
  out.candidates.push_back(std::move(candidate));
  return out;
}

void NodeEngine::Impl::explain_client(TimePoint now, const ServiceState& service, Explanation& out) const {
  const bool syn = out.packet.protocol == Protocol::tcp && out.begins;
  if (out.entry && !syn) {
    out.step = Step::known;
    return;
  }
  out.owner_changed = changed_lately(now, service) && service.pool.owner_changed(out.packet);
  out.step = syn ? decide_syn(now, service, out.packet) : decide_client(now, service, out.packet, out.begins);
  if (out.begins || out.packet.protocol == Protocol::udp) explain_choice(now, service, out);
  const bool would_begin = out.step == Step::create || out.step == Step::again;
  if (would_begin && out.entry && goes_on_by(service, *out.entry)) {
    out.step = Step::again;
    out.mapping = out.entry->tuples.server_side.src;
  } else if (would_begin && std::none_of(out.choices.begin(), out.choices.end(), [&](const auto& c) {
               return c.is_chosen || (out.by_chance && c.state == ServerState::usable);
             })) {
    out.step = Step::no_server;
  }
  explain_query(now, service, out);
}

/// Where a new session of the flow would go. A copy of the selector chooses: nobody's turn is used up.
void NodeEngine::Impl::explain_choice(TimePoint now, const ServiceState& service, Explanation& out) const {
  NoChance no_chance;
  policy::MemberSelector copy = service.selector->copy_with(no_chance);
  const auto choice = engine::choose_server(service, copy, now, out.packet, 0);
  out.outside_list = choice && choice->outside_list;
  out.all_down = choice && choice->all_down;
  out.by_chance = choice && goes_by_chance(service.options->policy) && !out.outside_list && !out.all_down;
  std::array<std::uint16_t, 2 * kMaxCandidates> ranks;
  const std::size_t depth = std::min(service.pool.depth(), ranks.size());
  const std::size_t count = service.pool.ranks(out.packet, std::span(ranks).first(depth));
  for (std::size_t rank = 0; rank < count; ++rank) {
    Explanation::Candidate candidate = describe(now, service, ranks[rank]);
    candidate.rank = rank;
    candidate.is_chosen = choice && !out.by_chance && choice->backend == ranks[rank];
    candidate.reason = candidate.is_chosen ? why_chosen(*choice) : why_not_chosen(service, ranks[rank], out.by_chance);
    out.choices.push_back(std::move(candidate));
  }
  if (out.outside_list) {
    Explanation::Candidate candidate = describe(now, service, choice->backend);
    candidate.rank = count;
    candidate.is_chosen = true;
    candidate.reason = why_chosen(*choice);
    out.choices.push_back(std::move(candidate));
  }
  if (!choice) return;
  Install install;
  install.flow.tuples.client_side = out.packet;
  install.service = &service;
  choose_mapping(install);
  out.mapping = install.flow.tuples.server_side.src;
}

/// Who would be asked for the flow's session.
void NodeEngine::Impl::explain_query(TimePoint now, const ServiceState& service, Explanation& out) const {
  if (out.step == Step::ask_former_owner) {
    Explanation::Candidate candidate = describe(now, service, *former_to_ask(now, service, out.packet));
    candidate.epoch = 1;
    candidate.round = 1;
    candidate.reason = "asked: the former owner of the hash region";
    out.candidates.push_back(std::move(candidate));
    return;
  }
  const policy::QueryList list = service.pool.query(out.packet);
  const Rounds rounds = rounds_of(service, list);
  out.list_cut = list.cut;
  for (std::size_t i = 0; i < list.count; ++i) {
    Explanation::Candidate candidate = describe(now, service, list.servers[i]);
    candidate.epoch = list.claims[i].epoch;
    candidate.coming = list.claims[i].coming;
    candidate.rank = list.claims[i].rank;
    candidate.round = rounds.of[i];
    if (candidate.round == 1) {
      candidate.reason = "asked at once";
    } else if (candidate.round == 2) {
      candidate.reason = "asked if nobody before has the session";
    } else if (candidate.holder == HolderPresence::no) {
      candidate.reason = "not asked: it has no holder";
    } else {
      candidate.reason = "not asked: its host is, or two rounds are full";
    }
    out.candidates.push_back(std::move(candidate));
  }
}

Explanation::Candidate NodeEngine::Impl::describe(TimePoint now, const ServiceState& service, std::uint16_t backend) const {
  const Backend& b = service.options->backends[backend];
  Explanation::Candidate out;
  out.server = b.id;
  out.address = b.address;
  out.weight = b.weight;
  out.priority = b.priority;
  out.configured = b.state;
  out.state = service.states[backend];
  out.holder = b.holder;
  if (const Holder* holder = holders_.find(b.address.address)) {
    out.holder_answered = holder->answered;
    out.holder_gone = holder->gone;
  }
  out.load = service.selector->load(now, backend);
  return out;
}

}  // namespace asrp::engine
