// SPDX-License-Identifier: BSD-3-Clause
// The backups of one role (decision 21), and what is due for them. The books of a holder share its bursts: all of them are
// committed before anybody is told.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "asrp/engine/holder_engine.hpp"
#include "asrp/session/backup_life.hpp"
#include "asrp/session/backup_table.hpp"

namespace asrp::engine {

struct Book {
  Book(Role r, session::RecordStore& store, std::uint64_t seed) : role(r), table(store, seed) {}

  /// The session's tuple at this host as it comes in: peer, then this host.
  [[nodiscard]] Tuple inbound(const TuplePair& session) const {
    return role == Role::act ? session.client_side.reversed() : session.server_side;
  }

  struct KnownState {
    std::uint32_t slot;
    LocalState state;
  };

  Role role;
  session::BackupTable table;
  session::BackupLife life;
  std::vector<std::uint32_t> noticed;         // slots whose end was reported
  std::optional<std::uint32_t> reconcile_at;  // slot that is next in a reconciliation
  TimePoint reconcile_slice{};                // when the next slice is due
  std::optional<TimePoint> reconcile_wanted;  // when to begin one
  TimePoint last_reconciliation{};

  // Of this burst.
  std::size_t stores = 0;                   // inputs of kind `store`
  std::vector<KnownState> conflict_states;  // of sessions that stand in the way
  std::vector<std::uint32_t> evictable;     // embryonic ones without a session, oldest last
  std::vector<std::uint32_t> giving_way;    // lingering ones whose flow is over, due first last
};

}  // namespace asrp::engine
