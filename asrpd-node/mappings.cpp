// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/mappings.hpp"

#include <algorithm>
#include <chrono>

namespace asrp::node {
namespace {

/// Looks for whatever nobody has told of, and at least as far apart if ends were lost: a look takes a second of a processor for
/// a million entries.
constexpr Duration kLookEvery = std::chrono::minutes(10);
constexpr Duration kLookAgain = std::chrono::seconds(10);
/// Ends kept during a look, 64 octets each. Beyond that the look removes nothing, and another one follows.
constexpr std::size_t kMostEnded = 1u << 17;
/// Sessions looked at with the lock held: workers wait for it.
constexpr std::uint32_t kPiece = 2048;
/// Where the kernel does not say how large its table is.
constexpr std::size_t kSomeTable = 1u << 18;

unsigned bit(Protocol protocol) {
  switch (protocol) {
    case Protocol::udp:
      return 1;
    case Protocol::tcp:
      return 2;
    default:
      return 0;
  }
}

/// An entry's sessions: the client's, and where the destination is another client's mapping (hairpin) that one's too.
struct Sessions {
  explicit Sessions(const TuplePair& pair) {
    const Tuple& near = pair.client_side;
    const Tuple& far = pair.server_side;
    list[0] = {near.protocol, near.src, far.src, near.dst};
    if (near.dst == far.dst) return;
    list[1] = {near.protocol, far.dst, near.dst, far.src};
    count = 2;
  }
  /// Of a named object: in a loop a temporary one would be gone.
  [[nodiscard]] std::span<const MappedSession> all() const& { return std::span(list).first(count); }
  std::span<const MappedSession> all() && = delete;

  std::array<MappedSession, 2> list;
  std::size_t count = 1;
};

}  // namespace

bool wants_mappings(const engine::NatOptions& nat, Protocol protocol) {
  const bool independent = protocol == Protocol::udp ? nat.endpoint_independent_udp : nat.endpoint_independent_tcp;
  const auto& networks = nat.ranges.networks;
  const bool chooses = std::any_of(networks.begin(), networks.end(), [](const policy::ClientNetwork& network) {
    return network.mapping == policy::ClientMapping::ports;
  });
  return independent && (chooses || nat.filtering != engine::Filtering::address_port);
}

Mappings::Mappings(std::uint64_t seed, OpenEnds open_ends) : open_ends_(std::move(open_ends)), index_(seed, kSomeTable) {}

Result<Done, io::IoError> Mappings::configure(const engine::NatOptions& nat, std::uint64_t table_size) {
  unsigned wanted = 0;
  for (const Protocol protocol : {Protocol::udp, Protocol::tcp})
    if (wants_mappings(nat, protocol)) wanted |= bit(protocol);
  const io::EndsOf which = (wanted & bit(Protocol::tcp)) != 0 ? io::EndsOf::all : io::EndsOf::udp;
  std::unique_ptr<io::ConntrackEnds> ends;
  const bool other_ends = wanted != 0 && (!ends_ || which != ends_of_);
  if (other_ends) {
    auto opened = open_ends_(which);
    if (!opened) return Failure{opened.error()};
    ends = std::move(*opened);
  }
  const unsigned before = followed_.exchange(wanted);
  {
    const std::lock_guard lock(mutex_);
    ranges_ = policy::PortRanges(nat.ranges);
    // An entry between two clients is two sessions.
    index_.set_limit(2 * (table_size == 0 ? kSomeTable : static_cast<std::size_t>(table_size)));
    if (other_ends) std::swap(ends_, ends);
    if (wanted == 0) ends_.reset();
    ends_of_ = which;
    // What is new was not followed so far; of the rest, ends may have been told between two sockets.
    if (other_ends || (wanted & ~before) != 0) looked_at_.reset();
  }
  for (const Protocol protocol : {Protocol::udp, Protocol::tcp})
    if ((before & ~wanted & bit(protocol)) != 0) forget(protocol);
  return Done{};
}

template <typename Piece>
void Mappings::in_pieces(const Piece& piece) {
  std::uint32_t place = 0;
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    more = piece(place);
  }
}

void Mappings::forget(Protocol protocol) {
  in_pieces([&](std::uint32_t& place) { return index_.remove_protocol(protocol, place, kPiece); });
}

int Mappings::descriptor() const {
  const std::lock_guard lock(mutex_);
  return ends_ ? ends_->descriptor() : -1;
}

bool Mappings::wants_look(TimePoint now) const {
  if (followed_ == 0) return false;
  const std::lock_guard lock(mutex_);
  if (looking_) return false;
  return !looked_at_ || now - *looked_at_ >= (stale_ ? kLookAgain : kLookEvery);
}

void Mappings::begin_look(TimePoint now) {
  const std::lock_guard lock(mutex_);
  looking_ = true;
  void_ = stale_ = false;
  looked_at_ = now;
  ++statistics_.looks;
  index_.begin_stamp();
}

void Mappings::on_entry(const engine::FlowEntry& entry) {
  const TuplePair& pair = entry.tuples;
  if (!follows(pair.client_side.protocol)) return;
  const Sessions sessions(pair);
  const std::lock_guard lock(mutex_);
  if (!looking_) return;
  for (const MappedSession& each : sessions.all())
    if (ranges_.range_of(each.inside.address) && index_.add_read(each) == MappingIndex::Added::full) ++statistics_.no_room;
}

void Mappings::end_look(bool whole) {
  {
    const std::lock_guard lock(mutex_);
    read_ends_locked();
    for (const MappedSession& each : ended_meanwhile_) index_.remove_read(each);
    ended_meanwhile_.clear();
    ended_meanwhile_.shrink_to_fit();
    looking_ = false;
    whole = whole && !void_;
    stale_ = stale_ || !whole;
  }
  if (whole) in_pieces([this](std::uint32_t& place) { return index_.remove_older(place, kPiece); });
}

void Mappings::read_ends() {
  const std::lock_guard lock(mutex_);
  read_ends_locked();
}

void Mappings::read_ends_locked() {
  if (!ends_ || ends_->drain([this](const TuplePair& ended) { on_end(ended); })) return;
  ++statistics_.lost;
  stale_ = true;
}

void Mappings::on_end(const TuplePair& ended) {
  if (!follows(ended.client_side.protocol)) return;
  const Sessions sessions(ended);
  for (const MappedSession& each : sessions.all()) {
    index_.remove(each);
    if (!looking_) continue;
    if (ended_meanwhile_.size() < kMostEnded) {
      ended_meanwhile_.push_back(each);
    } else {
      void_ = true;
    }
  }
}

bool Mappings::follows(Protocol protocol) const { return (followed_ & bit(protocol)) != 0; }

std::optional<Endpoint> Mappings::outside_of(Protocol protocol, const Endpoint& inside) const {
  if (!follows(protocol)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return index_.outside_of(protocol, inside);
}

std::optional<Endpoint> Mappings::inside_of(Protocol protocol, const Endpoint& outside) const {
  if (!follows(protocol)) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return index_.inside_of(protocol, outside);
}

bool Mappings::has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) const {
  if (!follows(protocol)) return false;
  const std::lock_guard lock(mutex_);
  return index_.has_session_with(protocol, outside, host);
}

void Mappings::claim(std::span<const engine::Flow> flows, std::span<Claim> claims) {
  ASRP_ASSERT(flows.size() == claims.size());
  std::fill(claims.begin(), claims.end(), Claim::none);
  if (followed_ == 0) return;
  const std::lock_guard lock(mutex_);
  read_ends_locked();
  for (std::size_t i = 0; i < flows.size(); ++i) claims[i] = claim_locked(flows[i]);
}

Mappings::Claim Mappings::claim_locked(const engine::Flow& flow) {
  if (!follows(flow.tuples.client_side.protocol)) return Claim::none;
  const Sessions sessions(flow.tuples);
  const MappedSession& own = sessions.list[0];
  if (!flow.proven) {  // a session that exists has its port, whoever else has got it
    const auto other = index_.inside_of(own.protocol, own.outside);
    const auto range = other && *other != own.inside ? ranges_.range_of(own.inside.address) : std::nullopt;
    if (range && !range->keeps_port) {
      ++statistics_.taken;
      return Claim::taken;
    }
  }
  for (const MappedSession& each : sessions.all())
    if (index_.pin(each) == MappingIndex::Added::full) ++statistics_.no_room;
  return Claim::claimed;
}

void Mappings::settle(std::span<const engine::Flow> flows, std::span<const Claim> claims,
                      std::span<const engine::InstallResult> results) {
  if (std::find(claims.begin(), claims.end(), Claim::claimed) == claims.end()) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (claims[i] != Claim::claimed) continue;
    const Sessions sessions(flows[i].tuples);
    for (const MappedSession& each : sessions.all()) index_.unpin(each, results[i] == engine::InstallResult::ok);
  }
}

Mappings::Statistics Mappings::statistics() const {
  const std::lock_guard lock(mutex_);
  Statistics out = statistics_;
  out.mappings = index_.mappings();
  out.sessions = index_.sessions();
  return out;
}

}  // namespace asrp::node
