// SPDX-License-Identifier: GPL-2.0-or-later
// The only class that knows both the holder engine and the edges: bursts in, verdicts and packets out.
#pragma once

#include <functional>
#include <vector>

#include "asrp/engine/histogram.hpp"
#include "asrp/engine/holder_engine.hpp"
#include "frame/packet_marks.hpp"
#include "io/local_sessions.hpp"
#include "io/marked_flows.hpp"
#include "io/message_socket.hpp"
#include "io/packet_queue.hpp"
#include "io/packet_sender.hpp"
#include "io/route_paths.hpp"

namespace asrp::holder {

struct DriverOptions {
  std::uint16_t queue_base = 51210;  // inbound; the next one is outbound
  std::uint32_t own_mark = 0x80000000;
  std::uint32_t done_mark = 0x04000000;
};

class HolderDriver {
 public:
  struct Edges {
    io::PacketQueue& queue;
    io::PacketSender& sender;
    io::MessageSocket& messages;
    io::HostSessions& sessions;
    io::LocalAddresses& addresses;
    // Only where this host is a client behind gateways.
    io::RoutePaths* routes = nullptr;
    io::MarkedFlows* done_flows = nullptr;  // that left the queue
  };
  using Clock = std::function<TimePoint()>;

  /// All references must outlive the driver.
  HolderDriver(engine::HolderEngine& engine, Edges edges, const DriverOptions& options, Clock clock);

  /// The queue is readable: takes one burst. What is left makes it readable again, after the others have had their turn.
  void on_packets();
  /// The message socket is readable: likewise.
  void on_messages();
  /// Sessions of the host ended.
  void on_notices();
  /// The host's addresses may have changed.
  void on_addresses();
  /// Something about routes has changed.
  void on_routes();
  /// A piece of the flows that left the queue is there: those that may ask for a backup again come back to it.
  void on_done_flows();
  /// Begins to read those flows if that is due. For a clock that runs anyway: there is no hurry.
  void look_for_sweep(TimePoint now);
  /// What the engine's timer is for.
  void on_timer();
  /// Sends what the engine's outbox holds, after an input that was not given by the members above (reconfigure).
  void finish(TimePoint now);

  struct Statistics {
    std::uint64_t bursts = 0;
    std::uint64_t cut_packets = 0;  // the kernel gave a part only: let through as they are
    std::uint64_t notices = 0;
    std::uint64_t notices_lost = 0;
    std::uint64_t flows_back = 0;         // that had left the queue without a backup
    engine::SlowPathHistogram slow_path;  // for each packet what its burst took, from its receipt to the verdicts
  };
  [[nodiscard]] const Statistics& statistics() const { return statistics_; }

 private:
  void stage_verdict(const engine::Output& output, Octets replacement);
  void send_followers();

  engine::HolderEngine& engine_;
  Edges edges_;
  DriverOptions options_;
  Clock clock_;
  Statistics statistics_;
  frame::PacketMarks marks_;
  std::vector<Tuple> back_;  // scratch
};

}  // namespace asrp::holder
