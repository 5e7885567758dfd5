// SPDX-License-Identifier: GPL-2.0-or-later
// In-memory twins of PacketQueue, PacketSender and MessageSocket: drivers run over them without root. Their descriptors are
// real (eventfd), so an event loop wakes up. A shared Order tells in tests what left before what.
#pragma once

#include <sys/eventfd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "io/message_socket.hpp"
#include "io/packet_queue.hpp"
#include "io/packet_sender.hpp"
#include "io/unique_fd.hpp"

namespace asrp::io::testing {

/// Numbers everything that leaves, over all twins that share it.
struct Order {
  std::uint64_t next = 0;
};

/// Readable while something waits.
class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void set(bool waiting) {
    std::uint64_t value = 1;
    if (waiting) {
      static_cast<void>(::write(descriptor_.get(), &value, sizeof value) == sizeof value);
    } else {
      static_cast<void>(::read(descriptor_.get(), &value, sizeof value) == sizeof value);
    }
  }

 private:
  UniqueFd descriptor_;
};

class MemoryPacketQueue final : public PacketQueue {
 public:
  struct Given {
    engine::PacketId id;
    Verdict verdict;
    Buffer replacement;
    std::uint32_t mark;
    std::uint64_t order;
  };

  explicit MemoryPacketQueue(Order& order, std::size_t burst = 64) : order_(order), burst_(burst) {}

  /// Puts a packet into `queue`. `wire_size` larger than the octets: the kernel has cut the copy.
  engine::PacketId deliver(std::uint16_t queue, Buffer packet, std::uint32_t mark = 0, std::size_t wire_size = 0) {
    const engine::PacketId id{queue, ++numbers_[queue]};
    const std::size_t size = std::max(wire_size, packet.size());
    waiting_.push_back({id, mark, std::move(packet), size});
    wake_up_.set(true);
    return id;
  }
  /// Verdicts given since the last call.
  std::vector<Given> take_verdicts() { return std::exchange(given_, {}); }
  /// Packets handed out or waiting that have no verdict yet (0 in the end).
  [[nodiscard]] std::size_t unanswered() const { return waiting_.size() + open_.size(); }

  int descriptor() const override { return wake_up_.descriptor(); }

  std::span<const QueuedPacket> receive() override {
    handed_out_.clear();
    packets_.clear();
    while (!waiting_.empty() && handed_out_.size() < burst_) {
      handed_out_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    for (const Waiting& w : handed_out_) {
      packets_.push_back({w.id, w.mark, w.octets, w.wire_size});
      open_.push_back(w.id);
      if (w.wire_size > w.octets.size()) ++statistics_.cut;
    }
    if (waiting_.empty()) wake_up_.set(false);
    statistics_.received += packets_.size();
    if (!packets_.empty()) ++statistics_.bursts;
    return packets_;
  }

  void stage_verdict(engine::PacketId id, Verdict verdict, Octets replacement, std::uint32_t mark) override {
    staged_.push_back({id, verdict, replacement, mark});
  }

  void send_verdicts() override {
    for (const Staged& s : staged_) {
      const auto found = std::find(open_.begin(), open_.end(), s.id);
      if (found == open_.end()) {
        ++statistics_.verdict_errors;  // no such packet, or a second verdict
        continue;
      }
      open_.erase(found);
      given_.push_back({s.id, s.verdict, Buffer(s.replacement.begin(), s.replacement.end()), s.mark, order_.next++});
    }
    staged_.clear();
  }

  Statistics statistics() const override { return statistics_; }
  std::size_t receive_buffer() const override { return 32u << 20; }

 private:
  struct Waiting {
    engine::PacketId id;
    std::uint32_t mark;
    Buffer octets;
    std::size_t wire_size;
  };
  struct Staged {
    engine::PacketId id;
    Verdict verdict;
    Octets replacement;
    std::uint32_t mark;
  };

  Order& order_;
  std::size_t burst_;
  WakeUp wake_up_;
  std::map<std::uint16_t, std::uint32_t> numbers_;
  std::deque<Waiting> waiting_;
  std::vector<Waiting> handed_out_;
  std::vector<QueuedPacket> packets_;
  std::vector<engine::PacketId> open_;
  std::vector<Staged> staged_;
  std::vector<Given> given_;
  Statistics statistics_;
};

class MemoryPacketSender final : public PacketSender {
 public:
  struct Sent {
    Buffer packet;
    std::uint32_t mark;
    std::uint64_t order;
  };

  explicit MemoryPacketSender(Order& order) : order_(order) {}

  /// Packets sent since the last call.
  std::vector<Sent> take_sent() { return std::exchange(sent_, {}); }

  void stage(Octets packet, std::uint32_t mark) override { staged_.push_back({packet, mark}); }
  void flush() override {
    for (const Staged& s : staged_) sent_.push_back({Buffer(s.packet.begin(), s.packet.end()), s.mark, order_.next++});
    statistics_.sent += staged_.size();
    staged_.clear();
  }
  Statistics statistics() const override { return statistics_; }

 private:
  struct Staged {
    Octets packet;
    std::uint32_t mark;
  };
  Order& order_;
  std::vector<Staged> staged_;
  std::vector<Sent> sent_;
  Statistics statistics_;
};

class MemoryMessageSocket final : public MessageSocket {
 public:
  void deliver(const Endpoint& from, const Endpoint& to, Buffer octets) {
    waiting_.push_back({from, to, std::move(octets)});
    wake_up_.set(true);
  }
  /// `message` must stay valid.
  void deliver_unreachable(const engine::Unreachable& error) {
    unreachable_.push_back(error);
    wake_up_.set(true);
  }

  int descriptor() const override { return wake_up_.descriptor(); }

  std::span<const ReceivedMessage> receive() override {
    handed_out_ = std::exchange(waiting_, {});
    messages_.clear();
    for (const Waiting& w : handed_out_) messages_.push_back({w.from, w.to, w.octets});
    wake_up_.set(false);
    if (!unreachable_.empty()) wake_up_.set(true);
    return messages_;
  }

  std::span<const engine::Unreachable> unreachable_peers() override {
    told_ = std::exchange(unreachable_, {});
    wake_up_.set(false);
    if (!waiting_.empty()) wake_up_.set(true);
    return told_;
  }

  std::uint64_t lost() const override { return 0; }

 private:
  struct Waiting {
    Endpoint from;
    Endpoint to;
    Buffer octets;
  };
  WakeUp wake_up_;
  std::vector<Waiting> waiting_;
  std::vector<Waiting> handed_out_;
  std::vector<ReceivedMessage> messages_;
  std::vector<engine::Unreachable> unreachable_;
  std::vector<engine::Unreachable> told_;
};

}  // namespace asrp::io::testing
