// SPDX-License-Identifier: BSD-3-Clause
// The rules of a node's kernel, as asrpd-node writes them: which packets go to the daemon's queues. One class for each mode.
#pragma once

#include <memory>

#include "asrp/engine/node_options.hpp"
#include "asrp/packet/packet_view.hpp"

namespace asrp::sim {

class NodeRules {
 public:
  virtual ~NodeRules() = default;
  /// Of the mode that the options are for, which must outlive the rules.
  static std::unique_ptr<NodeRules> of(const engine::NodeOptions& options);

  /// The queue in front of connection tracking takes it.
  [[nodiscard]] virtual bool takes_first(const packet::PacketView& view, bool has_option) const = 0;
  /// It has no entry, and goes to the queue for such packets; others end here.
  [[nodiscard]] virtual bool takes_stray(const packet::PacketView& view) const = 0;
};

}  // namespace asrp::sim
