// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-holder/holder_driver.hpp"

namespace asrp::holder {
namespace {

using engine::Direction;
using engine::Output;
using engine::OutputKind;

}  // namespace

HolderDriver::HolderDriver(engine::HolderEngine& engine, Edges edges, const DriverOptions& options, Clock clock)
    : engine_(engine), edges_(edges), options_(options), clock_(std::move(clock)) {}

void HolderDriver::on_packets() {
  const TimePoint now = clock_();
  const auto burst = edges_.queue.receive();
  for (const io::QueuedPacket& packet : burst) {
    if (packet.wire_size > packet.octets.size()) {
      ++statistics_.cut_packets;
      edges_.queue.stage_verdict(packet.id, io::Verdict::accept, {}, 0);
      continue;
    }
    marks_.add(packet.id, packet.mark);
    const bool outbound = packet.id.queue != options_.queue_base;
    engine_.on_packet(now, packet.id, outbound ? Direction::outbound : Direction::inbound, packet.octets);
  }
  if (burst.empty()) return;
  ++statistics_.bursts;
  const std::size_t packets = burst.size();
  finish(now);
  statistics_.slow_path.add(clock_() - now, packets);
}

void HolderDriver::on_messages() {
  const TimePoint now = clock_();
  const auto messages = edges_.messages.receive();
  for (const io::ReceivedMessage& message : messages) engine_.on_message(now, message.from, message.to, message.octets);
  if (messages.empty()) return;
  ++statistics_.bursts;
  finish(now);
}

void HolderDriver::on_notices() {
  const TimePoint now = clock_();
  const io::HostSessions::Notices notices = edges_.sessions.drain();
  for (const Tuple& ended : notices.ended) engine_.on_session_end(now, ended);
  statistics_.notices += notices.ended.size();
  if (notices.lost) {
    ++statistics_.notices_lost;
    engine_.on_notices_lost(now);
  }
  finish(now);
}

void HolderDriver::on_addresses() { engine_.on_local_addresses(edges_.addresses.refresh()); }

void HolderDriver::on_routes() {
  if (edges_.routes != nullptr) edges_.routes->refresh();
}

void HolderDriver::on_done_flows() {
  back_.clear();
  for (const Tuple& flow : edges_.done_flows->next())
    if (engine_.may_ask(flow)) back_.push_back(flow);
  edges_.done_flows->clear(back_);
  statistics_.flows_back += back_.size();
}

void HolderDriver::look_for_sweep(TimePoint now) {
  if (edges_.done_flows != nullptr && engine_.take_sweep(now)) edges_.done_flows->begin();
}

void HolderDriver::on_timer() {
  const TimePoint now = clock_();
  on_routes();
  engine_.on_timeout(now);
  finish(now);
}

void HolderDriver::stage_verdict(const Output& output, Octets replacement) {
  std::uint32_t mark = marks_.of(output.packet);
  if (output.packet.queue == options_.queue_base) {
    mark |= options_.own_mark;  // looked at: the rule against bypassed packets lets it pass
  } else if (output.mark != 0) {
    mark |= options_.done_mark;
  }
  edges_.queue.stage_verdict(output.packet, io::Verdict::accept, replacement, mark);
}

/// An HS in a packet of its own follows the packet that it copies: that one has left with its verdict.
void HolderDriver::send_followers() {
  const engine::Outbox& outbox = engine_.outbox();
  bool has_any = false;
  for (const Output& output : outbox.outputs()) {
    if (output.kind != OutputKind::send_after) continue;
    edges_.sender.stage(outbox.octets(output), options_.own_mark);
    has_any = true;
  }
  if (has_any) edges_.sender.flush();
}

void HolderDriver::finish(TimePoint now) {
  // The packets of this burst took the routes as they are now: a message that was right for the way before could come to a
  // place where nobody takes it out.
  on_routes();
  engine_.flush(now);
  engine::Outbox& outbox = engine_.outbox();
  for (const Output& output : outbox.outputs()) {
    switch (output.kind) {
      case OutputKind::accept:
        stage_verdict(output, {});
        break;
      case OutputKind::replace:
        stage_verdict(output, outbox.octets(output));
        break;
      case OutputKind::drop:
        edges_.queue.stage_verdict(output.packet, io::Verdict::drop, {}, 0);
        break;
      case OutputKind::send_flow:
      case OutputKind::send_own:
        edges_.sender.stage(outbox.octets(output), options_.own_mark);
        break;
      case OutputKind::send_after:
        break;
    }
  }
  // A PS in a packet of its own goes in front of the packet that it announces (kernel-notes 14).
  edges_.sender.flush();
  edges_.queue.send_verdicts();
  send_followers();
  outbox.clear();
  marks_.clear();
  look_for_sweep(now);
}

}  // namespace asrp::holder
