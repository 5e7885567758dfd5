// SPDX-License-Identifier: GPL-2.0-or-later
// ACT mode: where clients' endpoints are seen from outside, and whom they talk to (decision 27). A set of sessions, from which
// mappings follow: one lives while a session has it. No lock and no kernel in here; Mappings has both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "asrp/base/tuple.hpp"
#include "asrp/session/backup_index.hpp"
#include "asrp/session/slot_pool.hpp"

namespace asrp::node {

/// One session as its client sees it.
struct MappedSession {
  Protocol protocol = Protocol::udp;
  Endpoint inside;   // the client's
  Endpoint outside;  // what others see of it
  Endpoint remote;   // to whom it sends
};

class MappingIndex {
 public:
  /// `seed` is secret: clients choose ports. At most `limit` sessions; one takes about 150 octets with a mapping of its own.
  MappingIndex(std::uint64_t seed, std::size_t limit);

  enum class Added : std::uint8_t { added, known, full };
  /// A session that somebody is about to install: it is there from now on, and stays whatever else is said of it until each
  /// pin() that was not `full` has its unpin().
  Added pin(const MappedSession& session);
  /// `installed`: the kernel has it. If it has not, and nobody else says so either, it is not there.
  void unpin(const MappedSession& session, bool installed);
  /// A session that somebody has read in the kernel's table: it may have ended since.
  Added add_read(const MappedSession& session);
  /// The kernel has it no more.
  void remove(const MappedSession& session);
  /// The same, if since it was last removed nobody but add_read() has told of it.
  void remove_read(const MappedSession& session);

  /// Where the endpoint is seen; the oldest mapping, if it has several.
  [[nodiscard]] std::optional<Endpoint> outside_of(Protocol protocol, const Endpoint& inside) const;
  [[nodiscard]] std::optional<Endpoint> inside_of(Protocol protocol, const Endpoint& outside) const;
  /// Whether the endpoint seen there sends to some port of the host.
  [[nodiscard]] bool has_session_with(Protocol protocol, const Endpoint& outside, const IpAddress& host) const;

  /// What is added from now on is told from what was there, and not added again.
  void begin_stamp() { ++stamp_; }
  /// Removes the sessions among the next `count` places that have an older stamp, pinned ones excepted. `place` goes on behind
  /// them; false: that was all.
  bool remove_older(std::uint32_t& place, std::uint32_t count);
  /// Removes all sessions of a protocol, likewise.
  bool remove_protocol(Protocol protocol, std::uint32_t& place, std::uint32_t count);

  [[nodiscard]] std::size_t mappings() const { return mappings_.size(); }
  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  void set_limit(std::size_t limit);

 private:
  struct Mapping {
    Endpoint inside;
    Endpoint outside;
    Protocol protocol = Protocol::udp;
    std::uint32_t hosts = 0;
    std::uint64_t number = 0;  // counted: the older of two has the lower one
  };
  struct Host {
    IpAddress address;
    std::uint32_t mapping = 0;
    std::uint32_t sessions = 0;
  };
  struct Session {
    std::uint32_t host = 0;
    std::uint16_t port = 0;
    std::uint16_t pins = 0;
    std::uint8_t stamp = 0;
    bool installed = false;
    bool read = false;
  };

  /// Its slot; kNoSlot at the limit.
  std::uint32_t take_session(const MappedSession& session, Added& added);
  void forget(std::uint32_t slot);
  [[nodiscard]] std::uint64_t hash_inside(Protocol protocol, const Endpoint& inside) const;
  [[nodiscard]] std::uint64_t hash_outside(Protocol protocol, const Endpoint& outside) const;
  [[nodiscard]] std::uint64_t hash_host(std::uint32_t mapping, const IpAddress& host) const;
  [[nodiscard]] std::uint64_t hash_session(std::uint32_t host, std::uint16_t port) const;
  [[nodiscard]] std::uint32_t find_mapping(const MappedSession& session) const;
  [[nodiscard]] std::uint32_t find_host(std::uint32_t mapping, const IpAddress& host) const;
  [[nodiscard]] std::uint32_t find_session(const MappedSession& session) const;
  template <typename Matches>
  [[nodiscard]] std::uint32_t oldest(const session::BackupIndex& index, std::uint64_t hash, const Matches& matches) const;
  [[nodiscard]] std::uint32_t oldest_at(Protocol protocol, const Endpoint& outside) const;
  std::uint32_t take_mapping(const MappedSession& session);
  std::uint32_t take_host(std::uint32_t mapping, const IpAddress& address);
  void remove_session(std::uint32_t slot);
  template <typename Unwanted>
  bool remove_some(std::uint32_t& place, std::uint32_t count, const Unwanted& unwanted);

  std::uint64_t seed_;
  std::uint64_t number_ = 0;
  std::uint8_t stamp_ = 0;
  std::uint32_t places_ = 0;  // that sessions_ has ever had in use
  session::SlotPool<Mapping> mappings_;
  session::SlotPool<Host> hosts_;
  session::SlotPool<Session> sessions_;
  session::BackupIndex by_inside_;
  session::BackupIndex by_outside_;
  session::BackupIndex host_index_;
  session::BackupIndex session_index_;
};

}  // namespace asrp::node
