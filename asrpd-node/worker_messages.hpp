// SPDX-License-Identifier: GPL-2.0-or-later
// One message socket for several workers: an answer finds the one that waits for it. RS and RX carry the worker in the cookie
// of their QS. NA and NC carry the cookie that any node computes, so they go round until a worker knows their session.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "io/message_socket.hpp"
#include "io/unique_fd.hpp"

namespace asrp::node {

/// Bits that tell `workers` apart.
unsigned worker_bits(unsigned workers);

/// Where workers leave messages for each other. All members may be called from any thread.
class MessageExchange {
 public:
  struct Handed {
    Endpoint from;
    Endpoint to;
    Buffer octets;
    unsigned asked = 0;                  // workers that did not know its session
    std::uint16_t unreachable_port = 0;  // not 0: an engine::Unreachable, whose `peer` is `from`
  };
  /// Messages that wait for one worker; more are lost, as in a socket's buffer.
  static constexpr std::size_t kMaxWaiting = 65536;

  explicit MessageExchange(unsigned workers);
  [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(boxes_.size()); }
  /// Leaves `messages` for a worker and wakes it; takes them out of the list.
  void leave(unsigned worker, std::vector<Handed>& messages);
  /// What waits for a worker.
  std::vector<Handed> take(unsigned worker);
  /// Readable while something waits for a worker.
  [[nodiscard]] int descriptor(unsigned worker) const { return boxes_[worker]->wake.get(); }
  [[nodiscard]] std::uint64_t lost(unsigned worker) const;

 private:
  struct Box {
    mutable std::mutex mutex;
    std::vector<Handed> waiting;
    std::uint64_t lost = 0;
    io::UniqueFd wake;
  };
  std::vector<std::unique_ptr<Box>> boxes_;
};

/// A worker's message socket. `socket` is the real one, which one of them reads for all; none for the others.
class WorkerMessages final : public io::MessageSocket {
 public:
  /// Whether this worker's engine knows the session of an NA or NC.
  using Expects = std::function<bool(Octets message)>;

  /// `exchange` must outlive the object.
  WorkerMessages(MessageExchange& exchange, unsigned worker, std::unique_ptr<io::MessageSocket> socket);
  /// Before the first receive().
  void set_expects(Expects expects) { expects_ = std::move(expects); }

  [[nodiscard]] int descriptor() const override { return both_ ? both_.get() : exchange_.descriptor(worker_); }
  std::span<const io::ReceivedMessage> receive() override;
  std::span<const engine::Unreachable> unreachable_peers() override;
  [[nodiscard]] std::uint64_t lost() const override;

 private:
  [[nodiscard]] unsigned owner(Octets message, unsigned asked) const;
  void keep_or_pass(const Endpoint& from, const Endpoint& to, Octets octets, unsigned asked);
  void pass(unsigned worker, MessageExchange::Handed message);

  MessageExchange& exchange_;
  unsigned worker_;
  std::unique_ptr<io::MessageSocket> socket_;
  io::UniqueFd both_;
  Expects expects_;
  std::vector<MessageExchange::Handed> handed_;  // taken: what receive() gives refers to them
  std::vector<io::ReceivedMessage> messages_;
  std::vector<engine::Unreachable> unreachable_;
  std::vector<std::vector<MessageExchange::Handed>> passing_;
};

}  // namespace asrp::node
