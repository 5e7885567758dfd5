// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the index of mappings true while the daemon runs: reads the ends of entries in the daemon's loop, and looks through the
// kernel's table when the index asks for it.
#pragma once

#include <cstdint>

#include "asrp/base/result.hpp"
#include "asrpd-node/mappings.hpp"
#include "asrpd-node/table_sweep.hpp"
#include "io/conntrack.hpp"
#include "io/error.hpp"
#include "runtime/event_loop.hpp"

namespace asrp::node {

class MappingWatch {
 public:
  /// `loop` must outlive the object; the object must outlive `sweep`, whose thread uses it. `seed` is secret and random.
  MappingWatch(runtime::EventLoop& loop, TableSweep& sweep, std::uint64_t seed);
  ~MappingWatch();
  MappingWatch(const MappingWatch&) = delete;
  MappingWatch& operator=(const MappingWatch&) = delete;

  /// At the start and at a reload. Nobody gets an answer from the index for what is new until the table has been looked
  /// through.
  Result<Done, io::IoError> configure(const engine::NatOptions& nat, std::uint64_t table_size);
  /// Looks through the whole table before anything else happens: at the start, so that clients keep their mappings.
  void load(io::Conntrack& table);
  /// Begins to look whenever the index asks for it. Once.
  void begin();

  [[nodiscard]] Mappings& mappings() { return mappings_; }
  [[nodiscard]] const Mappings& mappings() const { return mappings_; }

 private:
  void look();

  runtime::EventLoop& loop_;
  TableSweep& sweep_;
  Mappings mappings_;
  int watched_ = -1;
  bool begun_ = false;
};

}  // namespace asrp::node
