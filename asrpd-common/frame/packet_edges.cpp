// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame/packet_edges.hpp"

#include "io/nfqueue.hpp"
#include "io/route_paths.hpp"

namespace asrp::frame {

using io::IoError;

Result<PacketEdges, IoError> PacketEdges::open(const Options& options) {
  PacketEdges edges;
  const config::QueueConfig& q = options.queue;
  auto queue = io::open_nfqueue({options.numbers, q.length, q.receive_buffer, options.fail_open, q.burst});
  if (!queue) return Failure{queue.error()};
  edges.queue = std::move(*queue);
  auto sender = io::open_raw_sender(options.marks, options.route_by);
  if (!sender) return Failure{sender.error()};
  edges.sender = std::move(*sender);
  if (options.has_messages) {
    auto messages = io::open_message_socket(options.port, options.errors);
    if (!messages) return Failure{messages.error()};
    edges.messages = std::move(*messages);
  }
  auto paths = io::open_route_paths();
  if (!paths) return Failure{paths.error()};
  edges.paths = std::move(*paths);
  return edges;
}

void append_packet_counters(std::vector<runtime::CounterLine>& lines, const io::PacketQueue& queue,
                            const io::MessageSocket& messages, const io::PacketSender& sender, const BurstCounts& bursts) {
  const auto q = queue.statistics();
  const std::string cut_fate = bursts.fail_open ? "let through as they are" : "dropped";
  lines.push_back({"queue.received", q.received, "packets that the kernel handed over"});
  lines.push_back({"queue.bursts", bursts.bursts, "bursts in which packets and messages were taken"});
  lines.push_back({"queue.overruns", q.overruns, "times that the kernel could not hand over: the socket was full"});
  if (!bursts.fail_open) {
    lines.push_back({"queue.dropped", q.dropped, "packets that the kernel dropped: the queue was full"});
    lines.push_back({"queue.lost", q.lost, "packets that the kernel dropped: the socket was full"});
  }
  lines.push_back({"queue.verdict_errors", q.verdict_errors, "verdicts that the kernel refused"});
  lines.push_back({"queue.cut", bursts.cut_packets, "packets of which the kernel gave a part only; " + cut_fate});
  lines.push_back({"messages.lost", messages.lost(), "datagrams to ASRP-PORT that the kernel dropped: the socket was full"});
  const auto s = sender.statistics();
  lines.push_back({"sender.sent", s.sent, "packets sent through raw sockets"});
  lines.push_back({"sender.too_big", s.too_big, "packets larger than the MTU of their route that must not be cut; dropped"});
  lines.push_back({"sender.failed", s.failed, "packets that could not be sent"});
}

std::string gauges_object(std::initializer_list<std::pair<const char*, std::uint64_t>> gauges) {
  std::string out;
  for (const auto& [name, value] : gauges) {
    out += (out.empty() ? "{\"" : ",\"") + std::string(name) + "\":" + std::to_string(value);
  }
  return out + "}";
}

}  // namespace asrp::frame
