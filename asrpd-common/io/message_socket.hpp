// SPDX-License-Identifier: GPL-2.0-or-later
// The UDP socket on ASRP-PORT: standalone messages in, with the address they were sent to. (Answers leave through PacketSender,
// since RS and RX reuse the QS's header, and NA and NC need a chosen source address.)
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "asrp/base/address.hpp"
#include "asrp/base/result.hpp"
#include "asrp/engine/unreachable.hpp"
#include "io/error.hpp"

namespace asrp::io {

struct ReceivedMessage {
  Endpoint from;
  Endpoint to;
  Octets octets;  // valid until the next receive()
};

class MessageSocket {
 public:
  virtual ~MessageSocket() = default;
  [[nodiscard]] virtual int descriptor() const = 0;
  /// The next burst (recvmmsg) without blocking.
  virtual std::span<const ReceivedMessage> receive() = 0;
  /// Which hosts have answered "port unreachable" to datagrams to ASRP-PORT since the last call, from the raw ICMP path; some
  /// of them if there are very many. Valid until the next call.
  virtual std::span<const engine::Unreachable> unreachable_peers() = 0;
  /// Datagrams that the kernel has dropped because the socket was full, so far.
  [[nodiscard]] virtual std::uint64_t lost() const = 0;
};

/// Whether ICMP "port unreachable" is listened for. A holder has no use for it, and what is not read must not wake anyone.
enum class PeerErrors : std::uint8_t { watch, ignore };

/// Binds [::]:port and 0.0.0.0:port, IPv4 alone where IPv6 is off.
Result<std::unique_ptr<MessageSocket>, IoError> open_message_socket(std::uint16_t port, PeerErrors errors);

}  // namespace asrp::io
