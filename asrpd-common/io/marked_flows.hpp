// SPDX-License-Identifier: GPL-2.0-or-later
// Flows of this host whose connection mark has a bit: the kernel's table is read in pieces, between which others get their
// turn, and the bit is taken away where it is not wanted any more.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "asrp/base/result.hpp"
#include "asrp/base/tuple.hpp"
#include "io/error.hpp"

namespace asrp::io {

class MarkedFlows {
 public:
  /// For one bit of the mark.
  static Result<std::unique_ptr<MarkedFlows>, IoError> open(std::uint32_t mark);
  virtual ~MarkedFlows() = default;

  /// Readable when next() has something.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Begins to read the table; if that is under way, then again when it has ended.
  virtual void begin() = 0;
  /// The next piece, without blocking: original tuples of TCP and UDP flows that are not about to end. Valid until the next
  /// call.
  virtual std::span<const Tuple> next() = 0;
  /// Takes the bit away. A flow that has ended meanwhile is no error.
  virtual void clear(std::span<const Tuple> flows) = 0;
};

}  // namespace asrp::io
