// SPDX-License-Identifier: BSD-3-Clause
#include "sim/node_host.hpp"

#include "asrp/wire/decode.hpp"

namespace asrp::sim {

using engine::OutputKind;
using engine::Tap;

NodeHost::NodeHost(Agenda& agenda, Network& network, Truth& truth, SeededRandom& random, std::uint64_t number_of_it)
    : agenda_(agenda), network_(network), truth_(truth), foretold_(truth), random_(random) {
  number = number_of_it;
}

void NodeHost::start(engine::NodeOptions options) {
  options_ = options;
  rules_ = NodeRules::of(options_);
  ++life_;
  armed_.reset();
  acknowledged_.clear();
  beginning_.clear();
  waiting_.clear();
  burst_.clear();
  foretold_.forget();
  flows_.now = agenda_.now();
  engine_ = std::make_unique<engine::NodeEngine>(std::move(options), flows_, paths_, random_, *this);
  arm();
  sweep_later();
}

void NodeHost::die() {
  engine_.reset();
  flush_table();
  inbox_.clear();
}

void NodeHost::restart_daemon() {
  if (!is_up()) return;
  engine_.reset();
  inbox_.clear();  // the queue's packets died with the daemon
  start(options_);
  sweep_marked();
}

void NodeHost::sweep_later() {
  agenda_.in(options_.timing.unprotected_interval, [this, life = life_] {
    if (!is_up() || life != life_) return;
    sweep_marked();
    sweep_later();
  });
}

/// The daemon's dump of marked entries, at its start and once a minute.
void NodeHost::sweep_marked() {
  flows_.now = agenda_.now();
  std::vector<engine::FlowEntry> marked;
  flows_.for_each([&](const engine::FlowEntry& entry) {
    if (entry.mark != engine::FlowMark::none) marked.push_back(entry);
  });
  for (const engine::FlowEntry& entry : marked) engine_->on_marked_flow(agenda_.now(), entry);
  engine_->on_marked_flows_end(agenda_.now());
  finish();
}

void NodeHost::set_state(const std::string& pool, const std::string& server, engine::ServerState state) {
  if (!is_up()) return;
  if (!engine_->on_server_state(agenda_.now(), pool, server, state)) return;  // not configured here yet
  finish();
}

void NodeHost::tell_load(const std::string& pool, const std::string& server, std::uint32_t load) {
  if (is_up()) engine_->on_load(agenda_.now(), pool, server, load);
}

void NodeHost::reconfigure(engine::NodeOptions options) {
  options_ = options;
  rules_ = NodeRules::of(options_);
  if (!is_up()) return;
  flows_.now = agenda_.now();
  engine_->reconfigure(agenda_.now(), std::move(options));
  finish();
}

void NodeHost::on_packet(Buffer packet) {
  if (!is_up()) return;
  inbox_.push_back(std::move(packet));
  schedule_wake(std::chrono::microseconds(50));
}

void NodeHost::schedule_wake(Duration delay) {
  if (wake_scheduled_) return;
  wake_scheduled_ = true;
  agenda_.in(delay, [this] {
    wake_scheduled_ = false;
    if (is_up()) wake();
  });
}

void NodeHost::arm() {
  const auto next = engine_->next_timeout();
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = std::max(*next, agenda_.now());
  agenda_.at(*armed_, [this, life = life_, at = *armed_] {
    if (!is_up() || life != life_ || armed_ != at) return;
    armed_.reset();
    flows_.now = agenda_.now();
    engine_->on_timeout(agenda_.now());
    finish();
  });
}

void NodeHost::wake() {
  flows_.now = agenda_.now();
  std::vector<Buffer> packets;
  std::swap(packets, inbox_);
  for (Buffer& packet : packets) {
    burst_.push_back(std::move(packet));
    take(burst_.back());
  }
  finish();
}

// Which packets go to the daemon, and what the kernel does with the others.
void NodeHost::take(const Buffer& packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view) return;
  const Tuple& tuple = view->tuple();
  for (const IpAddress& own : options_.local_ips) {
    if (tuple.dst.address != own) continue;
    if (view->is_icmp()) return tell_unreachable(*view);
    if (!test::slow_verify(packet)) truth_.wrong("node: bad checksum of a standalone message");
    if (view->is_udp() && tuple.dst.port == options_.port) {
      if (const auto m = wire::decode(view->payload()); m && m->message.type == wire::MsgType::NA) {
        // One that comes beside a SYN answers an earlier NS than that SYN's.
        if (!beginning_.contains(m->message.st1)) acknowledged_.insert(m->message.st1);
      }
      engine_->on_message(agenda_.now(), tuple.src, own, view->payload());
    }
    return;
  }
  if (view->is_icmp()) {
    if (flows_.translate_error(*view)) return forward(packet, true);
    return queue(Tap::stray, packet);
  }
  const bool has_option = packet::locate(*view, options_.marker).status != packet::LocateStatus::none;
  if (!rules_->takes_first(*view, has_option)) return take_tracked(packet, *view);
  if (view->is_tcp_syn()) {
    beginning_.insert(tuple);
    acknowledged_.erase(tuple);  // a SYN begins a session: its NS is none after the NA of an earlier one
  }
  queue(Tap::first, packet);
}

/// What comes as far as conntrack.
void NodeHost::take_tracked(const Buffer& packet, const packet::PacketView& view) {
  const Tuple& tuple = view.tuple();
  const auto match = flows_.look_up(tuple);
  if (match.entry == nullptr) {
    if (rules_->takes_stray(view)) queue(Tap::stray, packet);
    return;
  }
  const bool has_option = packet::locate(view, options_.marker).status != packet::LocateStatus::none;
  const bool is_waiting = match.is_original && match.entry->flow.mark == engine::FlowMark::waiting;
  if (has_option || is_waiting) return queue(Tap::known, packet);
  forward(packet, true);
}

/// What the daemon's message socket makes of an ICMP error.
void NodeHost::tell_unreachable(const packet::PacketView& view) {
  const auto quoted = packet::quoted_tuple(view);
  const auto datagram = packet::PacketView::parse(view.payload());
  if (!quoted || !datagram || quoted->dst.port != options_.port || quoted->dst.address != view.tuple().src.address) return;
  engine_->on_port_unreachable(agenda_.now(), {quoted->dst.address, quoted->src.port, datagram->payload()});
}

void NodeHost::queue(Tap tap, const Buffer& packet) {
  waiting_.push_back({next_number_, tap, &packet});
  const auto view = packet::PacketView::parse(packet);
  const bool plain = view && packet::locate(*view, options_.marker).status == packet::LocateStatus::none;
  if (plain) foretold_.before_packet(*engine_, agenda_.now(), tap, *view);
  engine_->on_packet(agenda_.now(), {0, next_number_++}, tap, packet);
  if (plain) foretold_.after_packet(*engine_);
}

void NodeHost::finish() {
  foretold_.before_flush(*engine_);
  engine_->flush(agenda_.now());
  foretold_.after_flush(*engine_);
  beginning_.clear();
  auto& outbox = engine_->outbox();
  for (const engine::Output& output : outbox.outputs()) {  // what is sent leaves before the verdicts
    if (output.kind != OutputKind::send_flow && output.kind != OutputKind::send_own) continue;
    const Octets octets = outbox.octets(output);
    watch_messages(octets);
    if (output.kind == OutputKind::send_own) {
      network_.send(Network::From::node, Buffer(octets.begin(), octets.end()));
    } else {
      forward(octets, false);
    }
  }
  for (const engine::Output& output : outbox.outputs()) {
    if (output.kind == OutputKind::send_flow || output.kind == OutputKind::send_own) continue;
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.number == output.packet.number; });
    if (found == waiting_.end()) {
      truth_.wrong("node: a verdict for no packet, or a second one");
      continue;
    }
    verdict(*found, output.kind, outbox.octets(output));
    waiting_.erase(found);
  }
  if (!waiting_.empty()) truth_.wrong("node: a packet without a verdict");
  waiting_.clear();
  outbox.clear();
  burst_.clear();
  if (!again_.empty()) return take_again();
  arm();
}

void NodeHost::verdict(const Waiting& waiting, OutputKind kind, Octets octets) {
  if (kind == OutputKind::drop) return;
  if (waiting.tap == Tap::stray) return truth_.wrong("node: a stray packet accepted untranslated");
  const Octets packet = kind == OutputKind::replace ? octets : Octets(*waiting.packet);
  watch_messages(packet);
  const auto view = packet::PacketView::parse(packet);
  if (!view) return truth_.wrong("node: a verdict with a damaged packet");
  if (flows_.look_up(view->tuple()).entry == nullptr) {
    if (waiting.tap != Tap::first) return;
    if (view->is_tcp_syn()) return truth_.wrong("node: a first packet accepted without a session");
    again_.emplace_back(packet.begin(), packet.end());  // the taps behind conntrack
    return;
  }
  forward(packet, true);
}

/// What the raw tap let go on, and has no session.
void NodeHost::take_again() {
  for (Buffer& packet : std::exchange(again_, {})) {
    burst_.push_back(std::move(packet));
    if (const auto view = packet::PacketView::parse(burst_.back())) take_tracked(burst_.back(), *view);
  }
  finish();
}

/// Translates and sends a packet that has an entry; the guard drops what has none.
void NodeHost::forward(Octets packet, bool decrement_ttl) {
  const auto view = packet::PacketView::parse(packet);
  if (!view) return truth_.wrong("node: sends a damaged packet");
  if (view->is_icmp()) {
    auto error = flows_.translate_error(*view);
    if (error && decrement_ttl && !packet::decrement_ttl(*error)) return;
    if (error) network_.send(Network::From::node, std::move(*error));
    return;
  }
  const auto match = flows_.look_up(view->tuple());
  if (match.entry == nullptr) return;
  Buffer out(packet.begin(), packet.end());
  flows_.translate(match, *view, out);
  if (decrement_ttl && !packet::decrement_ttl(out)) return;
  network_.send(Network::From::node, std::move(out));
}

/// draft 4.3.4: no NS after NA.
void NodeHost::watch_messages(Octets packet) {
  const auto view = packet::PacketView::parse(packet);
  if (!view) return;
  const bool standalone = view->is_udp() && view->tuple().dst.port == options_.port;
  const auto located = standalone ? packet::Located{} : packet::locate(*view, options_.marker);
  if (!standalone && !located.found()) return;
  const Octets room = standalone ? view->payload() : located.room(*view);
  const auto decoded = view->is_tcp() ? wire::decode_prefix(room) : wire::decode(room);
  if (!decoded) return truth_.wrong("node: sends a damaged message");
  if (decoded->message.type != wire::MsgType::NS) return;
  if (acknowledged_.contains(decoded->message.st1)) truth_.wrong("node: NS after NA, " + decoded->message.st1.to_string());
}

std::size_t NodeHost::restored() const {
  if (!engine_) return 0;
  return engine_->counters()[engine::NodeCounter::sessions_restored_rs] +
         engine_->counters()[engine::NodeCounter::sessions_restored_ps];
}

void NodeHost::check_idle() {
  if (!is_up()) return;
  const auto gauges = engine_->gauges();
  if (gauges.recoveries + gauges.held_packets + gauges.held_octets + gauges.attempts != 0) {
    truth_.wrong("node: something is still in flight when all is quiet: " + std::to_string(gauges.recoveries) +
                 " recoveries, " + std::to_string(gauges.held_packets) + " packets of " + std::to_string(gauges.held_octets) +
                 " octets, " + std::to_string(gauges.attempts) + " attempts");
  }
}

}  // namespace asrp::sim
