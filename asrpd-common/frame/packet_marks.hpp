// SPDX-License-Identifier: GPL-2.0-or-later
// The marks that the packets of a burst came with: a verdict's mark takes the place of the packet's, so it has to contain it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "asrp/engine/output.hpp"

namespace asrp::frame {

class PacketMarks {
 public:
  /// A mark of 0 needs not be kept.
  void add(engine::PacketId packet, std::uint32_t mark) {
    if (mark == 0) return;
    in_order_ = in_order_ && (marks_.empty() || is_before(marks_.back().packet, packet));
    marks_.push_back({packet, mark});
  }
  /// 0 for a packet that came without one.
  [[nodiscard]] std::uint32_t of(engine::PacketId packet) {
    // The kernel numbers packets as they come, queue by queue: the packets of one queue are in order already.
    if (!in_order_)
      std::sort(marks_.begin(), marks_.end(), [](const Mark& a, const Mark& b) { return is_before(a.packet, b.packet); });
    in_order_ = true;
    const auto at = std::lower_bound(marks_.begin(), marks_.end(), packet,
                                     [](const Mark& a, engine::PacketId id) { return is_before(a.packet, id); });
    return at != marks_.end() && at->packet == packet ? at->mark : 0;
  }
  /// At the end of the burst.
  void clear() {
    marks_.clear();
    in_order_ = true;
  }

 private:
  struct Mark {
    engine::PacketId packet;
    std::uint32_t mark;
  };
  static bool is_before(engine::PacketId a, engine::PacketId b) {
    return std::tie(a.queue, a.number) < std::tie(b.queue, b.number);
  }

  std::vector<Mark> marks_;
  bool in_order_ = true;
};

}  // namespace asrp::frame
