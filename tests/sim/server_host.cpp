// SPDX-License-Identifier: BSD-3-Clause
// What a server is as a host: its holder's configuration and rules, and its sockets as the holder sees them. Its stack is in
// server_stack.cpp.
#include "sim/server_host.hpp"

namespace asrp::sim {

using engine::LocalState;

ServerHost::ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index,
                       engine::Push push)
    : HolderHost(agenda, network, truth, random, Network::From::server), index_(index), push_(push) {
  start_holder();
}

ServerHost::ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index)
    : HolderHost(agenda, network, truth, random, Network::From::server), index_(index) {}

void ServerHost::on_packet(Buffer packet) {
  if (!push_) check_outside(packet);
  HolderHost::on_packet(std::move(packet));
}

/// Nothing of the protocol leaves on the far side: no option, no separate packet, no datagram to or from ASRP-PORT.
void ServerHost::check_outside(const Buffer& packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view || view->is_icmp()) return;
  const Tuple& tuple = view->tuple();
  const bool is_message = view->is_udp() && (tuple.dst.port == kDefaultPort || tuple.src.port == kDefaultPort);
  if (is_message || packet::locate(*view, {}).status != packet::LocateStatus::none || !view->surplus().empty()) {
    truth_.wrong("outside: a message came to a server, " + tuple.to_string());
  }
}

engine::HolderOptions ServerHost::holder_options() const {
  engine::HolderOptions options;
  for (const Family family : {Family::v4, Family::v6}) {
    options.local_ips.push_back(server_address(index_, family));
    options.nodes.push_back({node_address(0, family), static_cast<std::uint8_t>(family == Family::v4 ? 16 : 32)});
  }
  options.services = {{.protocol = Protocol::tcp, .port = kServerTcpPort, .push = *push_},
                      {.protocol = Protocol::udp, .port = kServerUdpPort, .push = *push_}};
  return options;
}

void ServerHost::on_holder_killed() {
  for (Session& session : truth_.sessions) {
    if (session.server == index_) session.was_exposed = true;
  }
}

/// The holder keeps a SYN back that it answers with NC.
void ServerHost::on_refused(const Buffer& packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view || !view->is_tcp_syn()) return;
  const auto id = Truth::owner(truth_.client_isns, view->tcp_sequence());
  if (id) truth_.sessions[*id].refused.push_back(view->tuple());
}

bool ServerHost::is_queued(const packet::PacketView& outgoing) const {
  if (push_ == engine::Push::never) return false;
  constexpr std::uint8_t kSynAck = packet::kTcpSyn | packet::kTcpAck;
  if (outgoing.is_tcp()) return (outgoing.tcp_flags() & kSynAck) == kSynAck;
  return !is_done(outgoing.tuple().reversed());
}

void ServerHost::on_outgoing_mark(const packet::PacketView& outgoing, bool done) {
  if (done && outgoing.is_udp()) done_.insert(outgoing.tuple().reversed());
}

LocalState ServerHost::tcp_state(const Tuple& peer) const {
  const auto found = sockets_.find(peer);
  if (found == sockets_.end()) return LocalState::none;
  const Socket& socket = found->second;
  if (socket.is_time_wait || socket.tcp.fin_is_acknowledged()) return LocalState::time_wait;
  return socket.tcp.state() == TcpState::syn_received ? LocalState::opening : LocalState::live;
}

}  // namespace asrp::sim
