// SPDX-License-Identifier: BSD-3-Clause
// ACT mode: the outside port of a new session, out of its client's range (port_ranges.hpp). A gateway creates only in its own
// slice of each range, so that two of them never choose the same port for two flows; it serves the whole range (decision 25).
// Hash, then probing, as for full NAT (nat_port.hpp): a gateway that has forgotten a session chooses for it as before, while an
// outsider without the key can't guess ports (RFC 6056).
//
// Version 1 (kPortRangesVersion), which a release never changes:
//   slice k of n ports from first = first + n*k/slices up to first + n*(k+1)/slices - 1, divisions rounded down
//   h     = SipHash(key, 'S' protocol tuple); for PortUse::endpoint the tuple's destination is the zero address and port 0
//   row   = the slice's ports in ascending order, `reserved` left out; with `keep_parity` those of the client port's parity,
//           and after them, tries counted from 0 again, the others
//   try t = port number (h mod N + t * stride) mod N of a row of N, where stride = 1 + (h / N) mod (N - 1), lowered to the next
//           number that is prime to N
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "asrp/base/siphash.hpp"
#include "asrp/base/tuple.hpp"
#include "asrp/policy/port_ranges.hpp"

namespace asrp::policy {

/// What shares an outside port.
enum class PortUse : std::uint8_t {
  session,   // each session gets its own choice: to other servers a port may be used again (RFC 5382 and 6056: TCP)
  endpoint,  // all sessions from one address and port of a client (RFC 4787 REQ-1: endpoint-independent mapping, UDP)
};

struct PortChoice {
  HashKey key{};               // the cluster's placement key
  unsigned slices = 16;        // PortRanges::slices()
  unsigned slice = 0;          // this gateway's own, below `slices`
  bool keep_parity = false;    // RFC 4787 REQ-4: even stays even while there are such ports
  std::uint16_t reserved = 0;  // never chosen: ASRP-PORT, which rules take out of the traffic; 0: none
};

/// One gateway's part of a range. Precondition: `slice < slices`, and the range has at least `slices` ports.
PortRange slice_of(const PortRange& range, unsigned slice, unsigned slices);

/// The outside endpoint of a client's flow at its `attempt`-th try, from 0; each port of the slice once, then nothing: the
/// slice is exhausted. A range that keeps ports has one try, the client's own port.
std::optional<Endpoint> choose_port(const PortRange& range, const PortChoice& choice, PortUse use, const Tuple& client_side,
                                    std::size_t attempt);

}  // namespace asrp::policy
