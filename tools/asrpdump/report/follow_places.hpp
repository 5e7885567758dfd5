// SPDX-License-Identifier: BSD-3-Clause
// Which node a packet of a flow is at: its addresses don't say, its neighbour on the link may.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "asrp/base/address.hpp"

namespace asrp::dump {

struct Heard;

/// Which neighbour on which link is which node, as the messages of the whole capture tell it: they name their node, packets of
/// flows don't. A neighbour that is a way to several nodes tells nothing.
class NodePlaces {
 public:
  void learn(std::uint64_t place, const IpAddress& node);
  [[nodiscard]] std::optional<IpAddress> node_at(std::uint64_t place) const;
  /// For a place where no known node is, in a capture whose places tell the known ones apart: the number of a node that no
  /// message names, from 1. Else 0.
  unsigned unnamed_at(std::uint64_t place);
  /// A packet went into a node at one place and came out at the other.
  void join(std::uint64_t place, std::uint64_t other);

 private:
  struct Known {
    std::optional<IpAddress> node;
    bool several = false;
    unsigned unnamed = 0;
  };
  static constexpr std::size_t kMost = 4096;
  std::unordered_map<std::uint64_t, Known> places_;
  unsigned unnamed_ = 0;
};

/// The node that a message names, by its Node-Local-IP or its header; nothing for a PS, an HS, and packets without a message.
std::optional<IpAddress> node_named_by(const Heard& heard);
/// The neighbour, on the link where it was captured, to which the packet goes if it goes to a node, or from which it comes. 0:
/// unknown.
std::uint64_t node_place_of(const Heard& heard);

}  // namespace asrp::dump
