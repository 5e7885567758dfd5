// SPDX-License-Identifier: GPL-2.0-or-later
// What the holder's host knows of its sessions: sock_diag for TCP, conntrack for UDP; look-ups in bursts, end notices, dumps.
#pragma once

#include <memory>
#include <span>

#include "asrp/base/result.hpp"
#include "asrp/engine/holder_engine.hpp"
#include "io/error.hpp"

namespace asrp::io {

class HostSessions : public engine::LocalSessions {
 public:
  /// `follow_udp`: also conntrack's DESTROY events (needs nf_conntrack_events=1, which open() sets in this namespace), and
  /// look-ups of UDP flows. Without it the answer for every UDP session is `none`.
  static Result<std::unique_ptr<HostSessions>, IoError> open(bool follow_udp);

  /// Descriptors to wait on for end notices (sock_diag multicast, conntrack events).
  [[nodiscard]] virtual std::span<const int> descriptors() const = 0;
  struct Notices {
    /// TCP as ST2: peer, then this host; 0 where the kernel does not say (kernel-notes 6). UDP as the flow began.
    std::span<const Tuple> ended;
    bool lost = false;  // ENOBUFS: some are missing
  };
  /// Reads what is pending without blocking; valid until the next call.
  virtual Notices drain() = 0;
};

/// Addresses of this network namespace, loopback excluded; a descriptor (rtnetlink) that tells of changes.
class LocalAddresses {
 public:
  static Result<std::unique_ptr<LocalAddresses>, IoError> open();
  virtual ~LocalAddresses() = default;
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Drains notices and reads the addresses anew.
  virtual std::span<const IpAddress> refresh() = 0;
};

}  // namespace asrp::io
