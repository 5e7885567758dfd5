// SPDX-License-Identifier: BSD-3-Clause
// What an engine wants done. If ignoring it would break the protocol it is an Output; if it only informs, an Event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "asrp/base/assert.hpp"
#include "asrp/base/bytes.hpp"

namespace asrp::engine {

/// Names a packet that waits for its verdict: queue and the kernel's number in it. Opaque to the engines.
struct PacketId {
  std::uint16_t queue = 0;
  std::uint32_t number = 0;
  friend bool operator==(const PacketId&, const PacketId&) = default;
};

enum class OutputKind : std::uint8_t {
  accept,      // let the packet go on as it is
  replace,     // let it go on with these octets
  drop,        // the packet ends here (the engine may have sent or kept a copy)
  send_flow,   // inject a packet of a flow: it must find its session in the kernel, or be dropped there (decision 5)
  send_own,    // send a packet of our own (a standalone message, a reset, a separate packet)
  send_after,  // the same, but behind the verdicts of its burst: an HS follows its packet
};

/// True for outputs that are packets of their own, false for verdicts.
constexpr bool is_send(OutputKind kind) {
  return kind == OutputKind::send_flow || kind == OutputKind::send_own || kind == OutputKind::send_after;
}

struct Output {
  OutputKind kind;
  PacketId packet;     // accept, replace, drop
  std::uint32_t mark;  // accept, replace: packet mark to set if not 0
  std::size_t offset;  // replace, send_*: place in the outbox's octets; a whole IP packet
  std::size_t size;
};

/// Outputs of one burst, in order, with their octets in one buffer that is reused: no allocation per packet.
/// Order matters: a separate PS is in front of the packet that it announces, and a separate HS behind its packet.
class Outbox {
 public:
  void accept(PacketId packet, std::uint32_t mark = 0) { outputs_.push_back({OutputKind::accept, packet, mark, 0, 0}); }
  void drop(PacketId packet) { outputs_.push_back({OutputKind::drop, packet, 0, 0, 0}); }

  /// Where octets of the next replace() or send() are appended. Remember `mark_start()` before.
  Buffer& octets() { return octets_; }
  [[nodiscard]] std::size_t mark_start() const { return octets_.size(); }
  /// Takes back what was appended since `start`.
  void rewind(std::size_t start) { octets_.resize(start); }
  void replace(PacketId packet, std::size_t start, std::uint32_t mark = 0) {
    outputs_.push_back({OutputKind::replace, packet, mark, start, octets_.size() - start});
  }
  void send(OutputKind kind, std::size_t start) {
    ASRP_ASSERT(is_send(kind));
    outputs_.push_back({kind, {}, 0, start, octets_.size() - start});
  }

  /// The same for octets that lie anywhere in the buffer: prepared early, decided on later.
  void replace_range(PacketId packet, std::size_t start, std::size_t size, std::uint32_t mark = 0) {
    outputs_.push_back({OutputKind::replace, packet, mark, start, size});
  }
  void send_range(OutputKind kind, std::size_t start, std::size_t size) {
    ASRP_ASSERT(is_send(kind));
    outputs_.push_back({kind, {}, 0, start, size});
  }

  [[nodiscard]] std::span<const Output> outputs() const { return outputs_; }
  [[nodiscard]] Octets octets(const Output& output) const { return Octets(octets_).subspan(output.offset, output.size); }
  [[nodiscard]] bool empty() const { return outputs_.empty(); }
  void clear() {
    outputs_.clear();
    octets_.clear();
  }

 private:
  std::vector<Output> outputs_;
  Buffer octets_;
};

}  // namespace asrp::engine
