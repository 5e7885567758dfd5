// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/node_driver.hpp"

#include "asrpd-node/flow_rules.hpp"
#include "asrpd-node/past_ranges.hpp"

namespace asrp::node {
namespace {

using engine::Output;
using engine::OutputKind;

// The table counts as nearly full above 15/16 of its size, and no longer so below 7/8.
constexpr std::uint64_t kFullNumerator = 15;
constexpr std::uint64_t kEasedNumerator = 14;
constexpr std::uint64_t kDenominator = 16;

}  // namespace

NodeDriver::NodeDriver(engine::NodeEngine& engine, Edges edges, const DriverOptions& options, Clock clock)
    : engine_(engine), edges_(edges), options_(options), clock_(std::move(clock)) {}

unsigned NodeDriver::tap_number(engine::PacketId id) const {
  return static_cast<unsigned>(id.queue - options_.queue_base) / options_.workers;
}

void NodeDriver::on_packets() {
  const TimePoint now = clock_();
  const auto burst = edges_.queue.receive();
  for (const io::QueuedPacket& packet : burst) {
    if (packet.wire_size > packet.octets.size()) {
      ++statistics_.cut_packets;
      edges_.queue.stage_verdict(packet.id, io::Verdict::drop, {}, 0);
      continue;
    }
    marks_.add(packet.id, packet.mark);
    const auto tap = static_cast<engine::Tap>(tap_number(packet.id));
    engine_.on_packet(now, packet.id, tap, packet.octets);
  }
  if (burst.empty()) return;
  ++statistics_.bursts;
  const std::size_t packets = burst.size();
  finish(now);
  statistics_.slow_path.add(clock_() - now, packets);
}

void NodeDriver::on_messages() {
  const TimePoint now = clock_();
  const auto messages = edges_.messages.receive();
  for (const io::ReceivedMessage& message : messages) engine_.on_message(now, message.from, message.to.address, message.octets);
  const auto unreachable = edges_.messages.unreachable_peers();
  for (const engine::Unreachable& error : unreachable) engine_.on_port_unreachable(now, error);
  if (messages.empty() && unreachable.empty()) return;
  ++statistics_.bursts;
  finish(now);
}

void NodeDriver::on_timer() {
  const TimePoint now = clock_();
  engine_.on_timeout(now);
  finish(now);
}

void NodeDriver::on_marked_flows(std::span<const engine::FlowEntry> entries) {
  const TimePoint now = clock_();
  for (const engine::FlowEntry& entry : entries) engine_.on_marked_flow(now, entry);
  finish(now);
}

void NodeDriver::on_marked_flows_end() {
  const TimePoint now = clock_();
  engine_.on_marked_flows_end(now);
  finish(now);
}

void NodeDriver::remove_untranslated_flows(std::span<const engine::FlowEntry> entries) {
  for (const engine::FlowEntry& entry : entries) {
    const Tuple& tuple = entry.tuples.client_side;
    const auto now = edges_.conntrack.find(tuple);
    if (!now || now->tuples.server_side != tuple || !wants_translation(engine_.options(), tuple)) continue;
    edges_.conntrack.remove(tuple);
    ++statistics_.untranslated;
  }
}

void NodeDriver::remove_orphaned_flows(std::span<const engine::FlowEntry> entries) {
  for (const engine::FlowEntry& entry : entries) {
    const Tuple& tuple = entry.tuples.client_side;
    const auto now = edges_.conntrack.find(tuple);
    if (!now || has_usable(service_at(engine_.options().services, tuple), now->tuples.server_side.dst)) continue;
    edges_.conntrack.remove(tuple);
    ++statistics_.orphaned;
  }
}

void NodeDriver::remove_former_flows(std::span<const engine::FlowEntry> entries) {
  if (!engine_.options().nat) return;
  const FormerSessions former(*engine_.options().nat);
  for (const engine::FlowEntry& entry : entries) {
    const auto now = edges_.conntrack.find(entry.tuples.client_side);
    if (!now || !former.is_orphan(*now)) continue;
    edges_.conntrack.remove(now->tuples.client_side);
    ++statistics_.orphaned;
  }
}

void NodeDriver::check_table_fill() {
  const io::Conntrack::Fill fill = edges_.conntrack.fill();
  const std::uint64_t numerator = table_pressure_ ? kEasedNumerator : kFullNumerator;
  const bool pressure = fill.maximum > 0 && fill.count * kDenominator >= fill.maximum * numerator;
  if (pressure == table_pressure_) return;
  table_pressure_ = pressure;
  engine_.set_table_pressure(pressure);
}

void NodeDriver::finish(TimePoint now) {
  engine_.flush(now);
  engine::Outbox& outbox = engine_.outbox();
  for (const Output& output : outbox.outputs()) {
    switch (output.kind) {
      case OutputKind::accept:
        edges_.queue.stage_verdict(output.packet, io::Verdict::accept, {}, verdict_mark(output));
        break;
      case OutputKind::replace:
        edges_.queue.stage_verdict(output.packet, io::Verdict::accept, outbox.octets(output), verdict_mark(output));
        break;
      case OutputKind::drop:
        edges_.queue.stage_verdict(output.packet, io::Verdict::drop, {}, 0);
        break;
      case OutputKind::send_flow:
        edges_.sender.stage(outbox.octets(output), options_.flow_mark);
        break;
      case OutputKind::send_own:
      case OutputKind::send_after:  // a holder's
        edges_.sender.stage(outbox.octets(output), options_.own_mark);
        break;
    }
  }
  // What is sent goes first: a message that announces a packet is on its way before that packet's verdict lets it go.
  edges_.sender.flush();
  edges_.queue.send_verdicts();
  outbox.clear();
  marks_.clear();
}

std::uint32_t NodeDriver::verdict_mark(const Output& output) {
  const bool first = tap_number(output.packet) == static_cast<unsigned>(engine::Tap::first);
  const std::uint32_t added = output.mark | (first ? options_.admitted_mark : 0);
  return added == 0 ? 0 : marks_.of(output.packet) | added;
}

}  // namespace asrp::node
