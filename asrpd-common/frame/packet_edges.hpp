// SPDX-License-Identifier: GPL-2.0-or-later
// The edges that both drivers have, opened in their order, and what is counted at them.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "config/common.hpp"
#include "io/error.hpp"
#include "io/message_socket.hpp"
#include "io/packet_queue.hpp"
#include "io/packet_sender.hpp"
#include "io/route_paths.hpp"
#include "runtime/control_socket.hpp"

namespace asrp::frame {

struct PacketEdges {
  std::unique_ptr<io::PacketQueue> queue;
  std::unique_ptr<io::PacketSender> sender;
  std::unique_ptr<io::MessageSocket> messages;
  std::unique_ptr<io::RoutePaths> paths;

  struct Options {
    config::QueueConfig queue;
    std::vector<std::uint16_t> numbers;
    bool fail_open = false;
    std::initializer_list<std::uint32_t> marks;  // of what is sent
    std::uint16_t port = 0;                      // ASRP-PORT
    io::PeerErrors errors = io::PeerErrors::ignore;
    bool has_messages = true;  // else `messages` is left to the caller: another one listens
    io::RouteBy route_by = io::RouteBy::destination;
  };
  /// Opens all.
  static Result<PacketEdges, io::IoError> open(const Options& options);
};

/// What a driver counts about packets, and how its queue treats those that it cannot hand over.
struct BurstCounts {
  std::uint64_t bursts = 0;
  std::uint64_t cut_packets = 0;
  bool fail_open = false;  // they are let through; else dropped
};
void append_packet_counters(std::vector<runtime::CounterLine>& lines, const io::PacketQueue& queue,
                            const io::MessageSocket& messages, const io::PacketSender& sender, const BurstCounts& bursts);

/// `"name":value,...` in braces: a JSON object of numbers.
std::string gauges_object(std::initializer_list<std::pair<const char*, std::uint64_t>> gauges);

}  // namespace asrp::frame
