// SPDX-License-Identifier: GPL-2.0-or-later
// Packets that the kernel holds for a verdict. Burst in, burst of verdicts out: one system call for many packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "asrp/base/bytes.hpp"
#include "asrp/engine/output.hpp"

namespace asrp::io {

struct QueuedPacket {
  engine::PacketId id;  // queue number and packet number
  std::uint32_t mark = 0;
  Octets octets;              // from the IP header; valid until the next receive()
  std::size_t wire_size = 0;  // larger than octets.size() if the kernel cut the copy: then never send it back
};

enum class Verdict : std::uint8_t { accept, drop };

class PacketQueue {
 public:
  virtual ~PacketQueue() = default;
  /// File descriptor to wait on for reading.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// The next burst without blocking; empty if nothing waits. Overruns (ENOBUFS) are counted, not errors.
  virtual std::span<const QueuedPacket> receive() = 0;
  /// Stages a verdict; `replacement` (may be empty) is the whole new packet, checksums right; `mark` 0 leaves the mark.
  /// The octets must stay valid until send_verdicts().
  virtual void stage_verdict(engine::PacketId id, Verdict verdict, Octets replacement, std::uint32_t mark) = 0;
  /// Sends what is staged, packed into few system calls.
  virtual void send_verdicts() = 0;

  struct Statistics {
    std::uint64_t received = 0, bursts = 0, overruns = 0, verdict_errors = 0, cut = 0;
    /// Packets that the kernel has dropped by itself: a queue was full, or its socket was. (Fail-open lets them through.)
    std::uint64_t dropped = 0, lost = 0;
  };
  [[nodiscard]] virtual Statistics statistics() const = 0;
  /// Octets that the kernel really keeps for packets that wait to be read.
  [[nodiscard]] virtual std::size_t receive_buffer() const = 0;
};

}  // namespace asrp::io
