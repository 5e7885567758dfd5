// SPDX-License-Identifier: BSD-3-Clause
// The server's kernel around the holder: rules, queue, timers. Its stack is in server_stack.cpp.
#include "sim/server_host.hpp"

namespace asrp::sim {

using engine::Direction;
using engine::LocalState;
using engine::OutputKind;

namespace {

constexpr Duration kUnrepliedFlow = std::chrono::seconds(30);  // conntrack's timeouts
constexpr Duration kRepliedFlow = std::chrono::seconds(120);

}  // namespace

ServerHost::ServerHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::size_t index,
                       engine::Push push)
    : agenda_(agenda), network_(network), truth_(truth), random_(random), index_(index), push_(push) {
  is_server = true;
  start_holder();
}

void ServerHost::start_holder() {
  engine::HolderOptions options;
  for (const Family family : {Family::v4, Family::v6}) {
    options.local_ips.push_back(server_address(index_, family));
    options.nodes.push_back({node_address(0, family), static_cast<std::uint8_t>(family == Family::v4 ? 16 : 32)});
  }
  options.services = {{.protocol = Protocol::tcp, .port = kServerTcpPort, .push = push_},
                      {.protocol = Protocol::udp, .port = kServerUdpPort, .push = push_}};
  ++life_;
  armed_.reset();
  waiting_.clear();
  burst_.clear();
  holder_ = std::make_unique<engine::HolderEngine>(std::move(options), store_, *this, paths_, random_, *this);
  if (!holder_->load(agenda_.now())) truth_.wrong("server: the holder does not load");
  arm_holder();
}

void ServerHost::kill_holder(Duration away) {
  if (!holder_) return;
  holder_.reset();
  store_.crash();
  std::erase_if(inbox_, [&](const Queued&) { return random_.one_in(2); });  // what lay in the queue
  for (Session& session : truth_.sessions) {
    if (session.server == index_) session.was_exposed = true;
  }
  agenda_.in(away, [this] {
    start_holder();
    exposed_until_ = agenda_.now() + std::chrono::seconds(1);
  });
}

void ServerHost::lose_notices() {
  loses_notices_ = true;
  agenda_.in(std::chrono::milliseconds(500), [this] {
    loses_notices_ = false;
    if (!holder_) return;
    holder_->on_notices_lost(agenda_.now());
    finish();
  });
}

void ServerHost::arm_holder() {
  const auto next = holder_->next_timeout();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = std::max(*next, agenda_.now());
  agenda_.at(*armed_, [this, life = life_, at = *armed_] {
    if (!holder_ || life != life_ || armed_ != at) return;
    armed_.reset();
    holder_->on_timeout(agenda_.now());
    finish();
  });
}

void ServerHost::on_packet(Buffer packet) {
  inbox_.push_back({std::move(packet), Direction::inbound});
  if (wake_scheduled_) return;
  wake_scheduled_ = true;
  agenda_.in(std::chrono::microseconds(40), [this] {
    wake_scheduled_ = false;
    wake();
  });
}

void ServerHost::wake() {
  std::vector<Queued> packets;
  std::swap(packets, inbox_);
  for (Queued& each : packets) {
    burst_.push_back(std::move(each));
    const Buffer& packet = burst_.back().packet;
    const auto view = packet::PacketView::parse(packet);
    if (!view) {
      truth_.wrong("server: got a damaged packet");
    } else if (burst_.back().direction == Direction::outbound) {
      if (holder_) {
        queue(Direction::outbound, packet);
      } else {
        network_.send(Network::From::server, packet);
      }
    } else {
      take_inbound(packet, *view);
    }
  }
  finish();
}

// The rules of the holder's host (decisions 16 and 17).
void ServerHost::take_inbound(const Buffer& packet, const packet::PacketView& view) {
  if (view.is_icmp()) return take_error(view);
  if (view.is_udp() && view.tuple().dst.port == kDefaultPort) {
    if (!test::slow_verify(packet)) truth_.wrong("server: bad checksum of a standalone message");
    if (holder_) return holder_->on_message(agenda_.now(), view.tuple().src, view.tuple().dst, view.payload());
    return network_.send(
        Network::From::server,
        test::icmp_error(view.tuple().dst.address, view.tuple().src.address).port_unreachable().quoting(packet).build());
  }
  const bool has_option =
      view.is_tcp() ? packet::locate(view, {}).status != packet::LocateStatus::none : !view.surplus().empty();
  if (!has_option) return stack(view);
  if (holder_) return queue(Direction::inbound, packet);
  bypass(view);
}

/// No daemon: a SYN's data is ignored by a stack without Fast Open, other segments with the option are dropped.
void ServerHost::bypass(const packet::PacketView& view) {
  if (view.is_udp()) {
    if (view.payload_size() != 0) stack(view);
    return;
  }
  if (view.is_tcp_syn()) stack(view);
}

void ServerHost::queue(Direction direction, const Buffer& packet) {
  waiting_.emplace_back(next_number_, &burst_.back());
  holder_->on_packet(agenda_.now(), {0, next_number_++}, direction, packet);
}

void ServerHost::finish() {
  if (!holder_) {
    waiting_.clear();
    burst_.clear();
    return;
  }
  holder_->flush(agenda_.now());
  auto& outbox = holder_->outbox();
  for (const engine::Output& output : outbox.outputs()) {
    const Octets octets = outbox.octets(output);
    if (output.kind == OutputKind::send_own) {
      network_.send(Network::From::server, Buffer(octets.begin(), octets.end()));
      continue;
    }
    if (waiting_.empty() || waiting_.front().first != output.packet.number) {
      truth_.wrong("server: verdicts out of order, doubled or missing");
      continue;
    }
    const Queued& queued = *waiting_.front().second;
    waiting_.pop_front();
    verdict(queued.direction, queued.packet, output.kind, octets, output.mark);
  }
  if (!waiting_.empty()) truth_.wrong("server: a packet without a verdict");
  waiting_.clear();
  outbox.clear();
  burst_.clear();
  arm_holder();
}

void ServerHost::verdict(Direction direction, const Buffer& original, OutputKind kind, Octets octets, std::uint32_t mark) {
  if (kind == OutputKind::drop) {
    if (direction == Direction::inbound) note_refused(original);
    return;
  }
  const Octets packet = kind == OutputKind::replace ? octets : Octets(original);
  const auto view = packet::PacketView::parse(packet);
  if (!view) return truth_.wrong("server: a verdict with a damaged packet");
  if (direction == Direction::inbound) return stack(*view);
  if (view->is_udp() && (mark & 1) != 0) flows_[view->tuple().reversed()].done_mark = true;
  network_.send(Network::From::server, Buffer(packet.begin(), packet.end()));
}

/// The holder keeps a SYN back that it answers with NC.
void ServerHost::note_refused(const Buffer& packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view || !view->is_tcp_syn()) return;
  const auto id = Truth::owner(truth_.client_isns, view->tcp_sequence());
  if (id) truth_.sessions[*id].refused.push_back(view->tuple());
}

/// A packet of the host's own: through the outgoing queue if the rules say so.
void ServerHost::send(Buffer packet) {
  const auto view = packet::PacketView::parse(packet);
  constexpr std::uint8_t kSynAck = packet::kTcpSyn | packet::kTcpAck;
  bool is_queued = view->is_tcp() && (view->tcp_flags() & kSynAck) == kSynAck;
  if (view->is_udp()) is_queued = !flows_[view->tuple().reversed()].done_mark;
  if (!is_queued || push_ == engine::Push::never || !holder_) return network_.send(Network::From::server, std::move(packet));
  inbox_.push_back({std::move(packet), Direction::outbound});
  if (wake_scheduled_) return;
  wake_scheduled_ = true;
  agenda_.in(std::chrono::microseconds(20), [this] {
    wake_scheduled_ = false;
    wake();
  });
}

void ServerHost::look_up(std::span<const Tuple> sessions, std::span<LocalState> states) {
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    states[i] = LocalState::none;
    if (sessions[i].protocol == Protocol::udp) {
      const auto flow = flows_.find(sessions[i]);
      if (flow != flows_.end()) states[i] = flow->second.replied ? LocalState::live : LocalState::opening;
      continue;
    }
    const auto found = sockets_.find(sessions[i]);
    if (found == sockets_.end()) continue;
    const Socket& socket = found->second;
    states[i] = socket.is_time_wait || socket.tcp.fin_is_acknowledged() ? LocalState::time_wait
                : socket.tcp.state() == TcpState::syn_received          ? LocalState::opening
                                                                        : LocalState::live;
  }
}

void ServerHost::notify_end(const Tuple& peer) {
  if (!holder_ || loses_notices_) return;
  // In an event of its own: the engine is not to be called from within its own look-ups and verdicts.
  agenda_.in(std::chrono::microseconds(30), [this, peer] {
    if (!holder_) return;
    holder_->on_session_end(agenda_.now(), peer);
    finish();
  });
}

/// Conntrack's life of a UDP flow.
void ServerHost::watch_flow(const Tuple& peer) {
  UdpFlow& flow = flows_[peer];
  if (flow.is_watched) return;
  flow.is_watched = true;
  const TimePoint due = flow.last + (flow.replied ? kRepliedFlow : kUnrepliedFlow);
  agenda_.at(due, [this, peer] {
    UdpFlow& watched = flows_[peer];
    watched.is_watched = false;
    const Duration life = watched.replied ? kRepliedFlow : kUnrepliedFlow;
    if (watched.last + life > agenda_.now()) return watch_flow(peer);
    flows_.erase(peer);
    notify_end(peer);
  });
}

// Each event of the agenda ends with a commit that succeeds, and kills fall between events: what was stored is stored for good.
void ServerHost::on_event(const engine::Event& event) {
  if (event.kind == engine::EventKind::backup_stored) {
    stored_[event.session.server_side] = event.session;
    truth_.stored(event.session);
  }
  if (event.kind == engine::EventKind::backup_released) stored_.erase(event.session.server_side);
}

std::size_t ServerHost::outlived_backups() {
  std::size_t live = 0;
  for (const auto& [tuple, backup] : stored_) {
    LocalState state = LocalState::none;
    look_up({&tuple, 1}, {&state, 1});
    if (state != LocalState::none) ++live;
  }
  return backups() - std::min(backups(), live);
}

bool ServerHost::is_backed_up(const TuplePair& tuples) const {
  const auto found = stored_.find(tuples.server_side);
  return found != stored_.end() && found->second == tuples;
}

}  // namespace asrp::sim
