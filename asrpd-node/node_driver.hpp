// SPDX-License-Identifier: GPL-2.0-or-later
// The only class that knows both the node engine and the edges: bursts in, verdicts and packets out.
#pragma once

#include <functional>
#include <span>

#include "asrp/engine/node_engine.hpp"
#include "frame/packet_marks.hpp"
#include "io/conntrack.hpp"
#include "io/message_socket.hpp"
#include "io/packet_queue.hpp"
#include "io/packet_sender.hpp"

namespace asrp::node {

struct DriverOptions {
  std::uint16_t queue_base = 51200;
  unsigned workers = 1;                      // each tap has so many queues, one after the other
  std::uint32_t admitted_mark = 0x08000000;  // on what the raw tap lets go on: the mangle tap would take its NS for a client's
  std::uint32_t flow_mark = 0x40000000;      // on packets of flows that the engine sends
  std::uint32_t own_mark = 0x80000000;       // on its own
};

class NodeDriver {
 public:
  struct Edges {
    io::PacketQueue& queue;
    io::PacketSender& sender;
    io::MessageSocket& messages;
    io::Conntrack& conntrack;
  };
  using Clock = std::function<TimePoint()>;

  /// All references must outlive the driver.
  NodeDriver(engine::NodeEngine& engine, Edges edges, const DriverOptions& options, Clock clock);

  /// The queue is readable: takes one burst. What is left makes it readable again, after the others have had their turn.
  void on_packets();
  /// The message socket is readable: likewise.
  void on_messages();
  /// What the engine's timer is for.
  void on_timer();
  // What a sweep through the kernel's table has found. Each entry is looked at again: the table has gone on meanwhile.
  /// Marked entries, for the engine (decision 7): at the start, then once in NodeTiming::unprotected_interval.
  void on_marked_flows(std::span<const engine::FlowEntry> entries);
  void on_marked_flows_end();
  /// Entries that a service's packets got while our rules were away: they translate nothing, and would keep the session from
  /// being recovered. At the start, and when rules were put back.
  void remove_untranslated_flows(std::span<const engine::FlowEntry> entries);
  /// Entries that is_orphan() names, after a reconfigure.
  void remove_orphaned_flows(std::span<const engine::FlowEntry> entries);
  /// ACT mode: entries of clients that are none any more, which would not end by themselves.
  void remove_former_flows(std::span<const engine::FlowEntry> entries);
  /// Watches how full the kernel's table is, and tells the engine when it has to refuse unproven sessions (decision 5).
  void check_table_fill();
  /// Sends what the engine's outbox holds, after an input that was not given by the members above (reconfigure).
  void finish(TimePoint now);

  struct Statistics {
    std::uint64_t bursts = 0;
    std::uint64_t cut_packets = 0;        // the kernel gave a part only: dropped, never sent back
    std::uint64_t untranslated = 0;       // entries removed because they translated nothing
    std::uint64_t orphaned = 0;           // UDP entries removed because their server left
    engine::SlowPathHistogram slow_path;  // for each packet what its burst took, from its receipt to the verdicts
  };
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  [[nodiscard]] unsigned tap_number(engine::PacketId id) const;
  /// The mark for a verdict: what the packet came with, and the engine's bit; 0 leaves it as it is.
  [[nodiscard]] std::uint32_t verdict_mark(const engine::Output& output);

  engine::NodeEngine& engine_;
  Edges edges_;
  DriverOptions options_;
  Clock clock_;
  Statistics statistics_;
  bool table_pressure_ = false;
  frame::PacketMarks marks_;
};

}  // namespace asrp::node
