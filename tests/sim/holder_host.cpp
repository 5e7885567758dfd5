// SPDX-License-Identifier: BSD-3-Clause
// The kernel around a holder: rules, queue, timers.
#include "sim/holder_host.hpp"

namespace asrp::sim {

using engine::Direction;
using engine::LocalState;
using engine::OutputKind;

namespace {

constexpr Duration kUnrepliedFlow = std::chrono::seconds(30);  // conntrack's timeouts
constexpr Duration kRepliedFlow = std::chrono::seconds(120);

}  // namespace

void HolderHost::start_holder() {
  engine::HolderOptions options = holder_options();
  const bool is_client = options.act.enabled;
  ++life_;
  armed_.reset();
  waiting_.clear();
  burst_.clear();
  holder_ = std::make_unique<engine::HolderEngine>(std::move(options), store_, *this, paths_, random_, *this,
                                                   is_client ? &act_store_ : nullptr);
  if (!holder_->load(agenda_.now())) truth_.wrong("holder: does not load");
  arm_holder();
}

void HolderHost::kill_holder(Duration away) {
  if (!holder_) return;
  holder_.reset();
  store_.crash();
  act_store_.crash();
  std::erase_if(inbox_, [&](const Queued&) { return random_.one_in(2); });  // what lay in the queue
  on_holder_killed();
  agenda_.in(away, [this] {
    start_holder();
    exposed_until_ = agenda_.now() + std::chrono::seconds(1);
  });
}

void HolderHost::lose_notices() {
  loses_notices_ = true;
  agenda_.in(std::chrono::milliseconds(500), [this] {
    loses_notices_ = false;
    if (!holder_) return;
    holder_->on_notices_lost(agenda_.now());
    finish();
  });
}

void HolderHost::arm_holder() {
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

void HolderHost::on_packet(Buffer packet) {
  inbox_.push_back({std::move(packet), Direction::inbound});
  wake_in(std::chrono::microseconds(40));
}

void HolderHost::wake_in(Duration delay) {
  if (wake_scheduled_) return;
  wake_scheduled_ = true;
  agenda_.in(delay, [this] {
    wake_scheduled_ = false;
    wake();
  });
}

void HolderHost::wake() {
  std::vector<Queued> packets;
  std::swap(packets, inbox_);
  for (Queued& each : packets) {
    burst_.push_back(std::move(each));
    const Buffer& packet = burst_.back().packet;
    const auto view = packet::PacketView::parse(packet);
    if (!view) {
      truth_.wrong("holder: its host got a damaged packet");
    } else if (burst_.back().direction == Direction::outbound) {
      if (holder_) {
        queue(Direction::outbound, packet);
      } else {
        network_.send(side_, packet);
      }
    } else {
      take_inbound(packet, *view);
    }
  }
  finish();
}

// The rules of the holder's host (decisions 16 and 17).
void HolderHost::take_inbound(const Buffer& packet, const packet::PacketView& view) {
  if (view.is_icmp()) return stack(view);
  if (view.is_udp() && view.tuple().dst.port == kDefaultPort) {
    if (!test::slow_verify(packet)) truth_.wrong("holder: bad checksum of a standalone message");
    if (holder_) return holder_->on_message(agenda_.now(), view.tuple().src, view.tuple().dst, view.payload());
    return network_.send(
        side_, test::icmp_error(view.tuple().dst.address, view.tuple().src.address).port_unreachable().quoting(packet).build());
  }
  const bool has_option =
      view.is_tcp() ? packet::locate(view, {}).status != packet::LocateStatus::none : !view.surplus().empty();
  if (!has_option) return stack(view);
  if (holder_) return queue(Direction::inbound, packet);
  bypass(view);
}

/// No daemon: a SYN's data is ignored by a stack without Fast Open, other segments with the option are dropped.
void HolderHost::bypass(const packet::PacketView& view) {
  if (view.is_udp()) {
    if (view.payload_size() != 0) stack(view);
    return;
  }
  if (view.is_tcp_syn()) stack(view);
}

void HolderHost::queue(Direction direction, const Buffer& packet) {
  waiting_.emplace_back(next_number_, &burst_.back());
  holder_->on_packet(agenda_.now(), {0, next_number_++}, direction, packet);
}

void HolderHost::finish() {
  if (!holder_) {
    waiting_.clear();
    burst_.clear();
    return;
  }
  holder_->flush(agenda_.now());
  auto& outbox = holder_->outbox();
  std::vector<Buffer> behind;  // what follows the burst's packets
  for (const engine::Output& output : outbox.outputs()) {
    const Octets octets = outbox.octets(output);
    if (output.kind == OutputKind::send_own) {
      network_.send(side_, Buffer(octets.begin(), octets.end()));
      continue;
    }
    if (output.kind == OutputKind::send_after) {
      behind.emplace_back(octets.begin(), octets.end());
      continue;
    }
    if (waiting_.empty() || waiting_.front().first != output.packet.number) {
      truth_.wrong("holder: verdicts out of order, doubled or missing");
      continue;
    }
    const Queued& queued = *waiting_.front().second;
    waiting_.pop_front();
    verdict(queued.direction, queued.packet, output.kind, octets, output.mark);
  }
  if (!waiting_.empty()) truth_.wrong("holder: a packet without a verdict");
  for (Buffer& packet : behind) network_.send(side_, std::move(packet));
  waiting_.clear();
  outbox.clear();
  burst_.clear();
  arm_holder();
}

void HolderHost::verdict(Direction direction, const Buffer& original, OutputKind kind, Octets octets, std::uint32_t mark) {
  if (kind == OutputKind::drop) {
    if (direction == Direction::inbound) on_refused(original);
    return;
  }
  const Octets packet = kind == OutputKind::replace ? octets : Octets(original);
  const auto view = packet::PacketView::parse(packet);
  if (!view) return truth_.wrong("holder: a verdict with a damaged packet");
  if (direction == Direction::inbound) return stack(*view);
  on_outgoing_mark(*view, (mark & 1) != 0);
  network_.send(side_, Buffer(packet.begin(), packet.end()));
}

void HolderHost::send(Buffer packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!holder_ || !is_queued(*view)) return network_.send(side_, std::move(packet));
  inbox_.push_back({std::move(packet), Direction::outbound});
  wake_in(std::chrono::microseconds(20));
}

void HolderHost::look_up(std::span<const Tuple> sessions, std::span<LocalState> states) {
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (sessions[i].protocol == Protocol::tcp) {
      states[i] = tcp_state(sessions[i]);
      continue;
    }
    const auto flow = flows_.find(sessions[i]);
    states[i] = flow == flows_.end() ? LocalState::none : flow->second.replied ? LocalState::live : LocalState::opening;
  }
}

void HolderHost::notify_end(const Tuple& peer) {
  if (!holder_ || loses_notices_) return;
  // In an event of its own: the engine is not to be called from within its own look-ups and verdicts.
  agenda_.in(std::chrono::microseconds(30), [this, peer] {
    if (!holder_) return;
    holder_->on_session_end(agenda_.now(), peer);
    finish();
  });
}

HolderHost::UdpFlow& HolderHost::touch_flow(const Tuple& peer, bool replied) {
  UdpFlow& flow = flows_[peer];
  flow.last = agenda_.now();
  flow.replied = flow.replied || replied;
  watch_flow(peer);
  return flow;
}

/// Conntrack's life of a UDP flow.
void HolderHost::watch_flow(const Tuple& peer) {
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
    done_.erase(peer);
    notify_end(peer);
  });
}

// Each event of the agenda ends with a commit that succeeds, and kills fall between events: what was stored is stored for good.
void HolderHost::on_event(const engine::Event& event) {
  if (event.kind == engine::EventKind::backup_stored) {
    stored_[inbound(event.session)] = event.session;
    truth_.stored(event.session);
  }
  if (event.kind == engine::EventKind::backup_released) {
    stored_.erase(inbound(event.session));
    truth_.released(event.session);
  }
}

std::size_t HolderHost::outlived_backups() {
  std::size_t live = 0;
  for (const auto& [tuple, backup] : stored_) {
    LocalState state = LocalState::none;
    look_up({&tuple, 1}, {&state, 1});
    if (state != LocalState::none) ++live;
  }
  return backups() - std::min(backups(), live);
}

}  // namespace asrp::sim
