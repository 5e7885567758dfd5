// SPDX-License-Identifier: BSD-3-Clause
// Where a holder's backups live: LMDB in the daemon, a vector in tests. Records are small and known by a slot number.
#pragma once

#include <cstdint>
#include <functional>

#include "asrp/base/bytes.hpp"

namespace asrp::session {

class RecordStore {
 public:
  virtual ~RecordStore() = default;
  /// The record in `slot`; empty if there is none. Valid until the next call of anything here. Sees puts that are not yet
  /// committed.
  virtual Octets get(std::uint32_t slot) = 0;
  /// False if the store is full or fails: nothing was stored.
  virtual bool put(std::uint32_t slot, Octets record) = 0;
  virtual void erase(std::uint32_t slot) = 0;
  /// All since the last commit survives the end of the process from now on. False: none of it is stored, the store is as it was
  /// at the last commit.
  virtual bool commit() = 0;
  virtual void for_each(const std::function<void(std::uint32_t slot, Octets record)>& visit) = 0;
};

}  // namespace asrp::session
