// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/mapping_index.hpp"

#include <algorithm>

namespace asrp::node {

using session::kNoSlot;

// A mapping and a host have at least one session, so the sessions' limit is theirs too.
MappingIndex::MappingIndex(std::uint64_t seed, std::size_t limit)
    : seed_(seed), mappings_(limit), hosts_(limit), sessions_(limit) {}

void MappingIndex::set_limit(std::size_t limit) {
  mappings_.set_limit(limit);
  hosts_.set_limit(limit);
  sessions_.set_limit(limit);
}

std::uint32_t MappingIndex::take_session(const MappedSession& session, Added& added) {
  std::uint32_t slot = find_session(session);
  added = Added::known;
  if (slot == kNoSlot) {
    slot = sessions_.take();
    added = slot == kNoSlot ? Added::full : Added::added;
    if (slot == kNoSlot) return slot;
    const std::uint32_t host = take_host(take_mapping(session), session.remote.address);
    ++hosts_[host].sessions;
    sessions_[slot].host = host;
    sessions_[slot].port = session.remote.port;
    session_index_.insert(hash_session(host, session.remote.port), slot);
    places_ = std::max(places_, slot + 1);
  }
  sessions_[slot].stamp = stamp_;
  return slot;
}

MappingIndex::Added MappingIndex::pin(const MappedSession& session) {
  Added added = Added::full;
  const std::uint32_t slot = take_session(session, added);
  if (slot != kNoSlot) ++sessions_[slot].pins;
  return added;
}

void MappingIndex::unpin(const MappedSession& session, bool installed) {
  const std::uint32_t slot = find_session(session);
  if (slot == kNoSlot || sessions_[slot].pins == 0) return;  // it had no room
  --sessions_[slot].pins;
  if (installed) sessions_[slot].installed = true;
  forget(slot);
}

MappingIndex::Added MappingIndex::add_read(const MappedSession& session) {
  Added added = Added::full;
  const std::uint32_t slot = take_session(session, added);
  if (slot != kNoSlot) sessions_[slot].read = true;
  return added;
}

void MappingIndex::remove(const MappedSession& session) {
  const std::uint32_t slot = find_session(session);
  if (slot == kNoSlot) return;
  sessions_[slot].installed = sessions_[slot].read = false;
  forget(slot);
}

void MappingIndex::remove_read(const MappedSession& session) {
  const std::uint32_t slot = find_session(session);
  if (slot == kNoSlot) return;
  sessions_[slot].read = false;
  forget(slot);
}

/// Removes a session of which nobody says that it is there.
void MappingIndex::forget(std::uint32_t slot) {
  const Session& session = sessions_[slot];
  if (!session.installed && !session.read && session.pins == 0) remove_session(slot);
}

template <typename Matches>
std::uint32_t MappingIndex::oldest(const session::BackupIndex& index, std::uint64_t hash, const Matches& matches) const {
  std::uint32_t oldest = kNoSlot;
  static_cast<void>(index.find(hash, [&](std::uint32_t slot) {
    if (matches(mappings_[slot]) && (oldest == kNoSlot || mappings_[slot].number < mappings_[oldest].number)) oldest = slot;
    return false;  // there may be more
  }));
  return oldest;
}

std::uint32_t MappingIndex::oldest_at(Protocol protocol, const Endpoint& outside) const {
  return oldest(by_outside_, hash_outside(protocol, outside),
                [&](const Mapping& mapping) { return mapping.protocol == protocol && mapping.outside == outside; });
}

std::optional<Endpoint> MappingIndex::outside_of(Protocol protocol, const Endpoint& inside) const {
  const std::uint32_t slot = oldest(by_inside_, hash_inside(protocol, inside), [&](const Mapping& mapping) {
    return mapping.protocol == protocol && mapping.inside == inside;
  });
  if (slot == kNoSlot) return std::nullopt;
  return mappings_[slot].outside;
}

std::optional<Endpoint> MappingIndex::inside_of(Protocol protocol, const Endpoint& outside) const {
  const std::uint32_t slot = oldest_at(protocol, outside);
  if (slot == kNoSlot) return std::nullopt;
  return mappings_[slot].inside;
}

bool MappingIndex::has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) const {
  const std::uint32_t mapping = oldest_at(protocol, outside);
  return mapping != kNoSlot && find_host(mapping, host) != kNoSlot;
}

template <typename Unwanted>
bool MappingIndex::remove_some(std::uint32_t& place, std::uint32_t count, const Unwanted& unwanted) {
  const std::uint32_t end = place + std::min(count, places_ - std::min(place, places_));
  for (; place < end; ++place)
    if (sessions_.alive(place, sessions_.generation(place)) && unwanted(sessions_[place])) remove_session(place);
  return place < places_;
}

bool MappingIndex::remove_older(std::uint32_t& place, std::uint32_t count) {
  return remove_some(place, count, [this](const Session& session) { return session.stamp != stamp_ && session.pins == 0; });
}

bool MappingIndex::remove_protocol(Protocol protocol, std::uint32_t& place, std::uint32_t count) {
  return remove_some(place, count, [this, protocol](const Session& session) {
    return mappings_[hosts_[session.host].mapping].protocol == protocol;
  });
}

// Addresses and ports of a tuple that nobody sends take what is hashed here.
std::uint64_t MappingIndex::hash_inside(Protocol protocol, const Endpoint& inside) const {
  return table_hash({inside, {}, protocol}, seed_);
}

std::uint64_t MappingIndex::hash_outside(Protocol protocol, const Endpoint& outside) const {
  return table_hash({outside, {}, protocol}, seed_);
}

std::uint64_t MappingIndex::hash_host(std::uint32_t mapping, const IpAddress& host) const {
  return table_hash({{host, 0}, {IpAddress::v4(mapping), 0}, Protocol::udp}, seed_);
}

std::uint64_t MappingIndex::hash_session(std::uint32_t host, std::uint16_t port) const {
  return table_hash({{IpAddress::v4(host), port}, {}, Protocol::udp}, seed_);
}

std::uint32_t MappingIndex::find_mapping(const MappedSession& session) const {
  return by_outside_.find(hash_outside(session.protocol, session.outside), [&](std::uint32_t slot) {
    const Mapping& mapping = mappings_[slot];
    return mapping.protocol == session.protocol && mapping.outside == session.outside && mapping.inside == session.inside;
  });
}

std::uint32_t MappingIndex::find_host(std::uint32_t mapping, const IpAddress& host) const {
  return host_index_.find(hash_host(mapping, host),
                          [&](std::uint32_t slot) { return hosts_[slot].mapping == mapping && hosts_[slot].address == host; });
}

std::uint32_t MappingIndex::find_session(const MappedSession& session) const {
  const std::uint32_t mapping = find_mapping(session);
  if (mapping == kNoSlot) return kNoSlot;
  const std::uint32_t host = find_host(mapping, session.remote.address);
  if (host == kNoSlot) return kNoSlot;
  const std::uint16_t port = session.remote.port;
  return session_index_.find(hash_session(host, port),
                             [&](std::uint32_t slot) { return sessions_[slot].host == host && sessions_[slot].port == port; });
}

std::uint32_t MappingIndex::take_mapping(const MappedSession& session) {
  if (const std::uint32_t known = find_mapping(session); known != kNoSlot) return known;
  const std::uint32_t slot = mappings_.take();
  mappings_[slot] = {session.inside, session.outside, session.protocol, 0, number_++};
  by_inside_.insert(hash_inside(session.protocol, session.inside), slot);
  by_outside_.insert(hash_outside(session.protocol, session.outside), slot);
  return slot;
}

std::uint32_t MappingIndex::take_host(std::uint32_t mapping, const IpAddress& address) {
  if (const std::uint32_t known = find_host(mapping, address); known != kNoSlot) return known;
  const std::uint32_t slot = hosts_.take();
  hosts_[slot] = {address, mapping, 0};
  ++mappings_[mapping].hosts;
  host_index_.insert(hash_host(mapping, address), slot);
  return slot;
}

void MappingIndex::remove_session(std::uint32_t slot) {
  const std::uint32_t host_slot = sessions_[slot].host;
  session_index_.erase(hash_session(host_slot, sessions_[slot].port), slot);
  sessions_.give_back(slot);
  Host& host = hosts_[host_slot];
  if (--host.sessions > 0) return;
  const std::uint32_t mapping_slot = host.mapping;
  host_index_.erase(hash_host(mapping_slot, host.address), host_slot);
  hosts_.give_back(host_slot);
  Mapping& mapping = mappings_[mapping_slot];
  if (--mapping.hosts > 0) return;
  by_inside_.erase(hash_inside(mapping.protocol, mapping.inside), mapping_slot);
  by_outside_.erase(hash_outside(mapping.protocol, mapping.outside), mapping_slot);
  mappings_.give_back(mapping_slot);
}

}  // namespace asrp::node
