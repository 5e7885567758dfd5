// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/worker_messages.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "asrp/wire/decode.hpp"

namespace asrp::node {

using Handed = MessageExchange::Handed;

unsigned worker_bits(unsigned workers) { return static_cast<unsigned>(std::bit_width(workers - 1)); }

MessageExchange::MessageExchange(unsigned workers) {
  for (unsigned i = 0; i < workers; ++i) {
    boxes_.push_back(std::make_unique<Box>());
    boxes_.back()->wake = io::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
}

void MessageExchange::leave(unsigned worker, std::vector<Handed>& messages) {
  if (messages.empty()) return;
  Box& box = *boxes_[worker];
  const std::lock_guard lock(box.mutex);
  const bool was_empty = box.waiting.empty();
  const std::size_t room = kMaxWaiting - std::min(kMaxWaiting, box.waiting.size());
  if (messages.size() > room) {
    box.lost += messages.size() - room;
    messages.resize(room);
  }
  box.waiting.insert(box.waiting.end(), std::move_iterator(messages.begin()), std::move_iterator(messages.end()));
  messages.clear();
  const std::uint64_t one = 1;
  if (was_empty && !box.waiting.empty()) static_cast<void>(::write(box.wake.get(), &one, sizeof one) == sizeof one);
}

std::vector<Handed> MessageExchange::take(unsigned worker) {
  Box& box = *boxes_[worker];
  const std::lock_guard lock(box.mutex);
  std::uint64_t count = 0;
  if (!box.waiting.empty()) static_cast<void>(::read(box.wake.get(), &count, sizeof count) == sizeof count);
  return std::exchange(box.waiting, {});
}

std::uint64_t MessageExchange::lost(unsigned worker) const {
  const std::lock_guard lock(boxes_[worker]->mutex);
  return boxes_[worker]->lost;
}

WorkerMessages::WorkerMessages(MessageExchange& exchange, unsigned worker, std::unique_ptr<io::MessageSocket> socket)
    : exchange_(exchange), worker_(worker), socket_(std::move(socket)), passing_(exchange.workers()) {
  if (socket_) both_ = io::poll_together({socket_->descriptor(), exchange_.descriptor(worker_)});
}

/// Whose turn it is to look at a message.
unsigned WorkerMessages::owner(Octets message, unsigned asked) const {
  const auto decoded = wire::decode_prefix(message);
  if (!decoded) return worker_;  // whoever has it counts why
  const std::uint32_t cookie = decoded->message.cookie.value;
  const unsigned bits = worker_bits(exchange_.workers());
  switch (decoded->message.type) {
    case wire::MsgType::QS:  // quoted by an ICMP error
    case wire::MsgType::RS:
    case wire::MsgType::RX: {
      const unsigned named = bits == 0 ? 0 : cookie >> (32 - bits);
      return named < exchange_.workers() ? named : worker_;
    }
    case wire::MsgType::NA:
    case wire::MsgType::NC:
      return (cookie % exchange_.workers() + asked) % exchange_.workers();  // the sum itself would wrap
    default:
      return worker_;
  }
}

void WorkerMessages::pass(unsigned worker, Handed message) { passing_[worker].push_back(std::move(message)); }

void WorkerMessages::keep_or_pass(const Endpoint& from, const Endpoint& to, Octets octets, unsigned asked) {
  for (;; ++asked) {
    const unsigned turn = owner(octets, asked);
    if (turn != worker_) return pass(turn, {from, to, Buffer(octets.begin(), octets.end()), asked, 0});
    // The last one that is asked keeps it in any case, and counts that nobody waits for it.
    if (asked + 1 >= exchange_.workers() || owner(octets, asked + 1) == worker_ || expects_(octets)) break;
  }
  messages_.push_back({from, to, octets});
}

std::span<const io::ReceivedMessage> WorkerMessages::receive() {
  messages_.clear();
  unreachable_.clear();
  if (socket_)
    for (const io::ReceivedMessage& m : socket_->receive()) keep_or_pass(m.from, m.to, m.octets, 0);
  handed_ = exchange_.take(worker_);
  for (const Handed& m : handed_) {
    if (m.unreachable_port != 0) {
      unreachable_.push_back({m.from.address, m.unreachable_port, m.octets});
    } else {
      keep_or_pass(m.from, m.to, m.octets, m.asked);
    }
  }
  for (unsigned w = 0; w < passing_.size(); ++w) exchange_.leave(w, passing_[w]);
  return messages_;
}

std::span<const engine::Unreachable> WorkerMessages::unreachable_peers() {
  if (!socket_) return unreachable_;
  for (const engine::Unreachable& error : socket_->unreachable_peers()) {
    const unsigned turn = owner(error.message, 0);
    if (turn == worker_) {
      unreachable_.push_back(error);
    } else {
      pass(turn, {{error.peer, 0}, {}, Buffer(error.message.begin(), error.message.end()), 0, error.source_port});
    }
  }
  for (unsigned w = 0; w < passing_.size(); ++w) exchange_.leave(w, passing_[w]);
  return unreachable_;
}

std::uint64_t WorkerMessages::lost() const { return (socket_ ? socket_->lost() : 0) + exchange_.lost(worker_); }

}  // namespace asrp::node
