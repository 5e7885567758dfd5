// SPDX-License-Identifier: BSD-3-Clause
#include "sim/act/client_host.hpp"

#include "asrp/wire/decode.hpp"

namespace asrp::sim::act {

using engine::LocalState;

namespace {

constexpr Duration kTimeWait = std::chrono::seconds(60);

}  // namespace

ClientHost::ClientHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, Clients& stacks, Settings settings)
    : HolderHost(agenda, network, truth, random, Network::From::client), stacks_(stacks), settings_(settings) {
  if (settings.has_holder) start_holder();
}

engine::HolderOptions ClientHost::holder_options() const {
  engine::HolderOptions options;
  options.act.enabled = true;
  for (const Family family : {Family::v4, Family::v6}) {
    options.local_ips.push_back(client_address(settings_.index, family));
    options.act.gateways.push_back({node_address(0, family), static_cast<std::uint8_t>(family == Family::v4 ? 16 : 32)});
  }
  return options;
}

void ClientHost::on_packet(Buffer packet) {
  if (!settings_.answers_queries) {
    const auto view = packet::PacketView::parse(packet);
    const bool is_standalone = view && view->is_udp() && view->tuple().dst.port == kDefaultPort;
    const auto decoded = is_standalone ? wire::decode(view->payload()) : wire::decode({});
    if (decoded && decoded->message.type == wire::MsgType::QS) return;
  }
  HolderHost::on_packet(std::move(packet));
}

void ClientHost::stack(const packet::PacketView& view) {
  if (view.is_udp()) touch_flow(view.tuple(), true);
  stacks_.on_packet(Buffer(view.octets().begin(), view.octets().end()));
}

void ClientHost::leave(Buffer packet) {
  if (const auto view = packet::PacketView::parse(packet); view && view->is_udp()) touch_flow(view->tuple().reversed(), false);
  sweep_when_proven();
  send(std::move(packet));
}

void ClientHost::on_end(const Session& session) {
  const Tuple peer = session.client_side.reversed();
  if (session.is_done && !session.server_closes) time_wait_[peer] = agenda_.now() + kTimeWait;
  notify_end(peer);
}

LocalState ClientHost::tcp_state(const Tuple& peer) const {
  const MiniTcp* tcp = stacks_.tcp_at(peer.reversed());
  if (tcp == nullptr) return LocalState::none;
  if (tcp->is_over()) {
    const auto waits = time_wait_.find(peer);
    return waits != time_wait_.end() && agenda_.now() < waits->second ? LocalState::time_wait : LocalState::none;
  }
  return tcp->state() == TcpState::syn_sent ? LocalState::opening : LocalState::live;
}

bool ClientHost::is_queued(const packet::PacketView& outgoing) const {
  if (outgoing.is_icmp()) return false;
  return outgoing.is_tcp_syn() || !is_done(outgoing.tuple().reversed());
}

void ClientHost::on_outgoing_mark(const packet::PacketView& outgoing, bool done) {
  const Tuple peer = outgoing.tuple().reversed();
  if (outgoing.is_tcp_syn()) done_.erase(peer);  // conntrack begins anew
  if (done) done_.insert(peer);
}

/// When a gateway has answered on a route for the first time, sessions that were taken off the queue come back to it.
void ClientHost::sweep_when_proven() {
  if (!holder_) return;
  const std::uint64_t proven = holder_->counters()[engine::HolderCounter::routes_proven];
  if (proven == proven_) return;
  proven_ = proven;
  std::erase_if(done_, [&](const Tuple& peer) { return !has_backup(peer); });
}

void ClientHost::move(std::size_t index) {
  settings_.index = index;
  ++paths_.route;
  if (!holder_) return;
  holder_->reconfigure(agenda_.now(), holder_options());
  finish();
}

void ClientHost::on_holder_killed() {
  for (Session& session : truth_.sessions) {
    const IpAddress& address = session.client_side.src.address;
    if (address == client_address(settings_.index, address.family())) session.was_exposed = true;
  }
}

void ClientStacks::send(Buffer packet) {
  const auto view = packet::PacketView::parse(packet);
  const auto host = hosts_.find(view->tuple().src.address);
  if (host != hosts_.end()) host->second->leave(std::move(packet));
}

void ClientStacks::on_end(const Session& session) {
  const auto host = hosts_.find(session.client_side.src.address);
  if (host != hosts_.end()) host->second->on_end(session);
}

}  // namespace asrp::sim::act
