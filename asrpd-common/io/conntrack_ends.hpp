// SPDX-License-Identifier: GPL-2.0-or-later
// What the kernel tells of conntrack entries that end: expired, removed, or thrown away.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "asrp/base/result.hpp"
#include "asrp/base/tuple.hpp"
#include "io/error.hpp"
#include "io/netlink_socket.hpp"

namespace asrp::io {

enum class EndsOf : std::uint8_t { udp, all };

/// A socket that gets them; `what` names the purpose in errors. Sets nf_conntrack_events=1 in this namespace: entries report
/// their end even if they were made before somebody listened.
Result<NetlinkSocket, IoError> open_conntrack_ends(EndsOf which, const std::string& what);

/// The ends of entries of TCP and UDP that translate something.
class ConntrackEnds {
 public:
  static Result<std::unique_ptr<ConntrackEnds>, IoError> open(EndsOf which, const std::string& what);

  virtual ~ConntrackEnds() = default;
  /// Readable while something waits.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Hands over what waits, in the order of the ends, without blocking. False if the kernel has dropped some.
  virtual bool drain(const std::function<void(const TuplePair& ended)>& visit) = 0;
};

}  // namespace asrp::io
