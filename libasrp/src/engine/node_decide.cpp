// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a packet, apart from doing it: these decide and change nothing, so that what the taps do and what explain()
// says can't differ.
#include <algorithm>

#include "asrp/policy/first_packet.hpp"
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

Step NodeEngine::Impl::decide_syn(TimePoint now, const ServiceState& service, const Tuple& syn) const {
  if (find_install(syn) != kNoSlot) return Step::join_install;
  // While a holder is asked which mapping the client's tuple has, a repeated SYN must not make yet another one.
  const std::uint32_t recovery = find_recovery(syn);
  if (recovery != kNoSlot &&
      (recoveries_[recovery].kind == session::RecoveryKind::conflict || recoveries_[recovery].may_create)) {
    return Step::join_recovery;
  }
  if (recovery == kNoSlot && former_to_ask(now, service, syn)) return Step::ask_former_owner;
  return decide_create(syn);
}

Step NodeEngine::Impl::decide_client(TimePoint now, const ServiceState& service, const Tuple& packet, bool begins) const {
  if (const auto step = decide_join(now, packet)) return *step;
  // What looks like a first datagram may belong to a session at the region's former owner (decision 14).
  const bool in_doubt = packet.protocol == Protocol::udp && changed_lately(now, service) && service.pool.owner_changed(packet);
  if (begins && !in_doubt) return decide_create(packet);
  return decide_ask(packet, Step::ask_candidates);
}

Step NodeEngine::Impl::decide_server(TimePoint now, const Tuple& packet) const {
  if (const auto step = decide_join(now, packet)) return *step;
  return decide_ask(packet, Step::ask_sender);
}

std::optional<Step> NodeEngine::Impl::decide_join(TimePoint now, const Tuple& packet) const {
  if (find_install(packet) != kNoSlot) return Step::join_install;
  if (find_recovery(packet) != kNoSlot) return Step::join_recovery;
  // Queued before its session came, met here after: the kernel translates a copy that is sent now (and drops it otherwise, if
  // the entry is gone again; hence the time is short).
  if (installed_.find(hash(packet), now, std::chrono::milliseconds(50)) != nullptr) return Step::send_behind;
  return std::nullopt;
}

Step NodeEngine::Impl::decide_create(const Tuple& packet) const {
  return pressure_ && !flows_.find(packet) ? Step::refuse : Step::create;
}

Step NodeEngine::Impl::decide_ask(const Tuple& packet, Step then) const {
  if (config_->local_ip(packet.family()) == nullptr) return Step::no_local_address;
  return recoveries_.size() >= config_->options().limits.recoveries ? Step::too_many : then;
}

bool NodeEngine::Impl::goes_on_by(const ServiceState& service, const FlowEntry& entry) const {
  return !entry.closing && check_legitimacy(service.rule, entry.tuples) == policy::Legitimacy::legitimate &&
         may_begin_again(service, entry.tuples.server_side.dst);
}

bool NodeEngine::Impl::is_explicit_first(const ServiceState& service, const packet::PacketView& view) {
  return view.is_tcp() ? view.is_tcp_syn() : is_first_datagram(service.options->explicit_first, view.payload());
}

bool NodeEngine::Impl::is_first_datagram(ExplicitFirst kind, Octets payload) {
  switch (kind) {
    case ExplicitFirst::none:
      return false;
    case ExplicitFirst::any:
      return true;
    case ExplicitFirst::dns:
      return policy::is_dns_query(payload);
    case ExplicitFirst::quic:
      return policy::is_quic_initial(payload);
  }
  return false;
}

std::optional<std::uint16_t> NodeEngine::Impl::former_to_ask(TimePoint now, const ServiceState& service,
                                                             const Tuple& syn) const {
  if (!changed_lately(now, service)) return std::nullopt;
  const auto former = service.pool.former_owner(syn);
  if (!former) return std::nullopt;
  const Backend& server = service.options->backends[*former];
  if (server.holder == HolderPresence::no) return std::nullopt;
  // There is no room, or nobody to ask: then it begins a session as everywhere else. SYNs are cheap to send; half of the room
  // is for the packets of sessions.
  if (recoveries_.size() >= config_->options().limits.recoveries / 2) return std::nullopt;
  if (config_->local_ip(syn.family()) == nullptr || counts_as_gone(server.address.address)) return std::nullopt;
  return former;
}

NodeEngine::Impl::Rounds NodeEngine::Impl::rounds_of(const ServiceState& service, const policy::QueryList& list) {
  Rounds rounds;
  std::size_t count = 0;
  const auto host = [&](std::size_t i) { return service.options->backends[list.servers[i]].address.address; };
  for (std::size_t i = 0; i < list.count; ++i) {
    const bool first = i < list.first_round;
    if (!first && count == rounds.first + kMaxCandidates) break;  // no third round
    bool is_asked = service.options->backends[list.servers[i]].holder != HolderPresence::no;
    // Two servers of one host are one holder: it is asked once.
    for (std::size_t before = 0; before < i && is_asked; ++before) is_asked = rounds.of[before] == 0 || host(before) != host(i);
    if (!is_asked) continue;
    rounds.of[i] = first ? 1 : 2;
    ++count;
    if (first) rounds.first = count;
  }
  return rounds;
}

}  // namespace asrp::engine
