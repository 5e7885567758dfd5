// SPDX-License-Identifier: GPL-2.0-or-later
// The index of mappings that all workers of a gateway share. It knows sessions from three sources: what the workers install,
// before the kernel has it; the ends of entries, which the kernel tells of; and looks through the kernel's table, at the start,
// after ends were lost, and now and then for whatever else may have gone wrong.
//
// Why the order of these is right. A session is claimed before it is installed, so its end is always told of later than its
// claim, and nothing removes it in between. What ended before a claim is read before it: a flow that its entry's end has
// interrupted begins anew at once, and the old entry's end must not be taken for the new one's. What a look has read may have
// ended since: ends told of during a look are kept, and applied again behind it to what nobody has installed meanwhile.
//
// What is stale is harmless: a mapping outlives its last entry by as long as the end takes to be read, and by ten minutes at
// most if the kernel had to drop it. Nobody but the daemon makes entries of its clients.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "asrp/base/result.hpp"
#include "asrp/engine/flow_table.hpp"
#include "asrp/engine/nat_options.hpp"
#include "asrpd-node/mapping_index.hpp"
#include "io/conntrack_ends.hpp"

namespace asrp::node {

/// Whether a protocol's mappings must be known: they are endpoint-independent, and there is a choice of ports or a filter to
/// be made by them.
bool wants_mappings(const engine::NatOptions& nat, Protocol protocol);

/// All members may be called in any thread, except those that say otherwise.
class Mappings {
 public:
  using OpenEnds = std::function<Result<std::unique_ptr<io::ConntrackEnds>, io::IoError>(io::EndsOf which)>;

  /// `seed` is secret and random.
  explicit Mappings(
      std::uint64_t seed, OpenEnds open_ends = [](io::EndsOf which) {
        return io::ConntrackEnds::open(which, "follow the end of clients' sessions");
      });

  // The daemon's thread alone.

  /// At the start, and whenever the configuration changes. descriptor() may be another one afterwards: nobody may wait for it
  /// meanwhile. `table_size`: entries that the kernel's table may have.
  Result<Done, io::IoError> configure(const engine::NatOptions& nat, std::uint64_t table_size);
  /// Readable while ends of entries wait for read_ends(); -1 while nothing is followed.
  [[nodiscard]] int descriptor() const;
  /// Whether the table should be looked through. Between begin_look() and end_look() it should not.
  [[nodiscard]] bool wants_look(TimePoint now) const;
  void begin_look(TimePoint now);
  /// An entry of the table. Any thread.
  void on_entry(const engine::FlowEntry& entry);
  /// `whole`: all entries have been seen; what has not is removed then.
  void end_look(bool whole);

  void read_ends();

  // What FlowTable says of them. Nothing is known of a protocol that is not followed.
  [[nodiscard]] std::optional<Endpoint> outside_of(Protocol protocol, const Endpoint& inside) const;
  [[nodiscard]] std::optional<Endpoint> inside_of(Protocol protocol, const Endpoint& outside) const;
  [[nodiscard]] bool has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) const;

  enum class Claim : std::uint8_t {
    none,     // not followed: it is installed, and not known
    claimed,  // known from now on, unless the index is full
    taken,    // the port is another endpoint's: not to be installed (RFC 4787 REQ-3, two at once)
  };
  /// Before sessions are installed. `claims` has one for each, in order. Each claim() is followed by its settle().
  void claim(std::span<const engine::Flow> flows, std::span<Claim> claims);
  /// Afterwards: what the kernel has refused is forgotten, unless another worker has installed it.
  void settle(std::span<const engine::Flow> flows, std::span<const Claim> claims,
              std::span<const engine::InstallResult> results);

  struct Statistics {
    std::uint64_t looks = 0;    // through the whole table
    std::uint64_t lost = 0;     // times that the kernel had to drop ends
    std::uint64_t taken = 0;    // ports refused because another endpoint has got them at the same time
    std::uint64_t no_room = 0;  // sessions that were not taken up
    std::size_t mappings = 0;   // now
    std::size_t sessions = 0;
  };
  [[nodiscard]] Statistics statistics() const;

 private:
  [[nodiscard]] bool follows(Protocol protocol) const;
  void read_ends_locked();
  void on_end(const TuplePair& ended);
  Claim claim_locked(const engine::Flow& flow);
  void forget(Protocol protocol);
  template <typename Piece>
  void in_pieces(const Piece& piece);

  OpenEnds open_ends_;
  std::atomic<unsigned> followed_ = 0;  // a bit for each protocol
  mutable std::mutex mutex_;            // all below
  MappingIndex index_;
  policy::PortRanges ranges_;
  std::unique_ptr<io::ConntrackEnds> ends_;
  io::EndsOf ends_of_ = io::EndsOf::udp;
  Statistics statistics_;
  bool looking_ = false;
  bool void_ = false;  // the look that is under way proves nothing of what it has not seen
  bool stale_ = false;
  std::optional<TimePoint> looked_at_;          // none: at once
  std::vector<MappedSession> ended_meanwhile_;  // during a look
};

}  // namespace asrp::node
