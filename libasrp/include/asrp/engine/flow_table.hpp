// SPDX-License-Identifier: BSD-3-Clause
// The node's session table as the engine sees it: conntrack in the daemon, a map in tests and in the simulator.
// Batched: one call installs all sessions of a burst, and tells of each whether it is there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "asrp/base/time.hpp"
#include "asrp/base/tuple.hpp"

namespace asrp::engine {

/// What the entry's mark says about its backup (decision 7). Mark and entry are the whole state.
enum class FlowMark : std::uint8_t {
  none,         // backed up, or none expected: the kernel path
  waiting,      // NS sent with F-NA, no NA yet: packets of the client stay on the slow path
  unprotected,  // no NA after all tries, or no holder: kernel path, one NS a minute
};

struct Flow {
  TuplePair tuples;
  FlowMark mark = FlowMark::none;
  /// True where one direction alone must keep the entry (asymmetric routing, RS, PS): SEEN_REPLY is set (decision 3).
  bool one_way_suffices = true;
  /// True for a session that an RS or a PS proved: ASSURED, never evicted as half-open.
  bool proven = false;
  /// TCP: the packet that goes on next is a SYN of the server's side. A table that follows states would refuse it otherwise.
  bool begun_by_server = false;
};

enum class InstallResult : std::uint8_t {
  ok,
  exists,  // the original tuple has an entry, or the server-side tuple is taken; find() tells which
  full,    // no room (ENOMEM)
  failed,  // anything else; counted by the table
};

struct FlowEntry {
  TuplePair tuples;
  FlowMark mark = FlowMark::none;
  /// TCP in CLOSE, TIME_WAIT or LAST_ACK: a SYN may replace it.
  bool closing = false;
  /// Seconds until it ends if no packet comes; none if the table doesn't tell.
  std::optional<std::uint32_t> left = std::nullopt;
};

class FlowTable {
 public:
  virtual ~FlowTable() = default;
  /// Creates all; `results` has one for each, in order. When it returns, every `ok` flow translates packets.
  virtual void install(std::span<const Flow> flows, std::span<InstallResult> results) = 0;
  /// The entry one of whose tuples, in either orientation, is `tuple`.
  virtual std::optional<FlowEntry> find(const Tuple& tuple) = 0;
  /// Removes the entry with this client-side tuple. No error if there is none.
  virtual void remove(const Tuple& client_side) = 0;
  /// Sets the mark of the entry with this client-side tuple.
  virtual void set_mark(const Tuple& client_side, FlowMark mark) = 0;

  // ACT mode, endpoint-independent mapping (decision 27). Of all sessions that are there now. Must be cheap: called for each
  // first packet. A table that does not know has no mappings; clients' endpoints are then mapped by hash alone.

  /// Where a client's endpoint is seen from outside.
  virtual std::optional<Endpoint> outside_of(Protocol /*protocol*/, const Endpoint& /*inside*/) { return std::nullopt; }
  /// Whose endpoint is seen there.
  virtual std::optional<Endpoint> inside_of(Protocol /*protocol*/, const Endpoint& /*outside*/) { return std::nullopt; }
  /// Whether an endpoint, seen from outside as `outside`, has a session with any port of that host.
  virtual bool has_session_with(Protocol /*protocol*/, const Endpoint& /*outside*/, const IpAddress& /*host*/) { return false; }
};

/// Route MTUs, for the choice between inline, separate and standalone (decision 16).
class Paths {
 public:
  virtual ~Paths() = default;
  /// MTU in octets of the route to `destination`; 1500 if unknown. Must be cheap: called per packet.
  virtual std::size_t mtu_towards(const IpAddress& destination) = 0;
  /// Names the way from `source`, an address of this host, to `destination`: interface, next hop and source. 0 if there is
  /// none. Whatever changes about a way gives it another number, and a number is never used again. Must be cheap: called for
  /// packets of sessions without a backup.
  virtual std::uint32_t route_of(const IpAddress& /*source*/, const IpAddress& /*destination*/) { return 0; }
};

}  // namespace asrp::engine
