// SPDX-License-Identifier: GPL-2.0-or-later
// Sends whole IP packets through raw sockets, both families, a burst in few system calls (sendmmsg).
#pragma once

#include <cstdint>
#include <memory>

#include "asrp/base/bytes.hpp"
#include "asrp/base/result.hpp"
#include "io/error.hpp"

namespace asrp::io {

class PacketSender {
 public:
  virtual ~PacketSender() = default;
  /// Stages a packet; `mark` is the SO_MARK that it carries (0 none). The octets must stay valid until flush(). A packet enters
  /// at OUTPUT; the kernel routes it by its own destination, after translation. A datagram above the route's MTU goes in
  /// fragments if it may (no DF in IPv4); it counts as one.
  virtual void stage(Octets packet, std::uint32_t mark) = 0;
  virtual void flush() = 0;
  struct Statistics {
    std::uint64_t sent = 0, too_big = 0, failed = 0, last_errno = 0;
  };
  [[nodiscard]] virtual Statistics statistics() const = 0;
};

/// What the route of a packet is chosen by. The kernel takes no source from a header that is given to it; where routes depend
/// on it, a copy would go another way than its packet.
enum class RouteBy : std::uint8_t {
  destination,
  source_too,  // all sources are addresses of this host
};

/// `marks`: every mark that stage() will be given gets its own socket pair. A host without IPv6 has none for it; what was to go
/// there is counted.
Result<std::unique_ptr<PacketSender>, IoError> open_raw_sender(std::initializer_list<std::uint32_t> marks,
                                                               RouteBy route_by = RouteBy::destination);

}  // namespace asrp::io
