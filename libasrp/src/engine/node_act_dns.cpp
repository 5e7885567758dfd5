// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: sessions of DNS end soon after their answer. A resolver asks each question from a port of its own; were each to
// keep an outside port for as long as a flow may be silent, a client's part of the ports would not last for a page of the web
// (RFC 4787 REQ-5a allows it for well-known ports). Two looks tell whether packets came between them: each packet sets the
// entry's time anew.
#include "engine/node_impl.hpp"

namespace asrp::engine {

using session::kNoSlot;

namespace {

constexpr std::uint16_t kDnsPort = 53;

}  // namespace

void NodeEngine::Impl::watch_dns(TimePoint now, const TuplePair& session) {
  if (session.client_side.protocol != Protocol::udp || session.client_side.dst.port != kDnsPort) return;
  const std::uint32_t slot = dns_.take();
  if (slot == kNoSlot) return;
  dns_[slot].tuples = session;
  schedule_dns(now, slot);
}

void NodeEngine::Impl::schedule_dns(TimePoint now, std::uint32_t slot) {
  const NatState* nat = config_->nat();
  if (nat == nullptr) return dns_.give_back(slot);
  timers_.add({now + nat->options->dns_lasts / 2, slot, dns_.generation(slot), static_cast<std::uint8_t>(TimerKind::dns)});
}

void NodeEngine::Impl::on_dns_due(TimePoint now, std::uint32_t slot) {
  DnsSession& session = dns_[slot];
  const auto entry = flows_.find(session.tuples.client_side);
  if (!entry || entry->tuples != session.tuples) return dns_.give_back(slot);
  const bool is_idle = session.looked && (!entry->left || !session.left || *entry->left < *session.left);
  if (!is_idle) {
    session.left = entry->left;
    session.looked = true;
    return schedule_dns(now, slot);
  }
  count(Counter::sessions_dns_ended);
  remove_flow(session.tuples);
  dns_.give_back(slot);
}

}  // namespace asrp::engine
