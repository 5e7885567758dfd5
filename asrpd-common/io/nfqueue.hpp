// SPDX-License-Identifier: GPL-2.0-or-later
// NFQUEUE: recvmmsg in, verdicts packed with libmnl out, several queue numbers on one socket.
#pragma once

#include <memory>
#include <vector>

#include "asrp/base/result.hpp"
#include "io/error.hpp"
#include "io/packet_queue.hpp"

namespace asrp::io {

struct NfQueueOptions {
  std::vector<std::uint16_t> numbers;      // all bound to one socket
  std::uint32_t length = 65536;            // packets the kernel holds per queue
  std::size_t receive_buffer = 32u << 20;  // octets, SO_RCVBUFFORCE
  bool fail_open = false;                  // holder: accept when the queue is full
  std::size_t burst = 64;                  // packets per receive()
};

/// Binds the queues. Fails with a reason and advice (number taken, no CAP_NET_ADMIN, no kernel support).
Result<std::unique_ptr<PacketQueue>, IoError> open_nfqueue(const NfQueueOptions& options);

}  // namespace asrp::io
