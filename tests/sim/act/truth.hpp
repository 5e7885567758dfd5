// SPDX-License-Identifier: BSD-3-Clause
// What must hold of outside ports, beside what holds in both modes: each client has its own, and none is given twice.
#pragma once

#include <map>
#include <unordered_set>

#include "asrp/engine/nat_options.hpp"
#include "asrp/policy/port_ranges.hpp"
#include "sim/network.hpp"
#include "sim/truth.hpp"

namespace asrp::sim::act {

class ActTruth final : public Truth {
 public:
  explicit ActTruth(const engine::NatOptions& nat) : ranges_(nat.ranges), shares_mappings_(nat.endpoint_independent_udp) {}

  /// A gateway has made a session, for the one that has its client's port now: its outside endpoint is free, and in its
  /// client's range.
  void created(const TuplePair& tuples, const Maker& maker) override;
  /// The client's holder has taken a backup.
  void stored(const TuplePair& tuples) override;
  void released(const TuplePair& tuples) override;
  /// A packet of a session came to its server.
  void reached(std::uint32_t id, const Tuple& peer) override;
  /// What a client reset may be there at the server still, where it got no RST.
  void blocked(std::optional<std::uint32_t> owner_of_it, std::optional<std::uint32_t> holder_of_it) override {
    if (owner_of_it && holder_of_it && owner_of_it != holder_of_it && !is_live(*holder_of_it))
      sessions[*owner_of_it].was_misled = true;
  }
  /// A connection whose SYN took two gateways, or that was asked for before its NS had come to the client, has its backup by
  /// one of its two mappings, and may live by the other.
  [[nodiscard]] bool is_moved(std::uint32_t id) const override {
    return is_split(id) || made_twice_.contains(id) || Truth::is_moved(id);
  }

  /// Which gateway made the session of a server's packet.
  [[nodiscard]] std::optional<std::uint64_t> maker_of(const Tuple& answer) const {
    const auto found = given_.find(answer.reversed());
    return found == given_.end() ? std::nullopt : std::optional(found->second.maker.node);
  }
  [[nodiscard]] const policy::PortRanges& ranges() const { return ranges_; }
  /// Still at work, for all that its client knows.
  [[nodiscard]] bool is_live(std::uint32_t id) const;
  /// Lost, and excused: see README.md.
  [[nodiscard]] bool is_excused(std::uint32_t id) const;

  std::size_t ports_twice = 0;  // outside port and server given to two sessions at once
  std::size_t given_again = 0;  // of them, by a gateway that came back without its table
  [[nodiscard]] std::size_t clients_twice() const { return clients_twice_.size(); }

 private:
  [[nodiscard]] bool is_excused_clash(std::uint32_t owner_of_it, std::optional<std::uint32_t> receiver) const override;

  void check_mapping(const TuplePair& tuples, std::uint32_t id, const Maker& maker);

  struct Given {
    std::uint32_t id;
    Maker maker;
  };
  struct Mapped {
    Endpoint other;  // outside of an inside endpoint, inside of an outside one
    std::uint32_t id;
  };
  using Mappings = std::unordered_map<Tuple, Mapped, test::TupleHash>;

  policy::PortRanges ranges_;
  bool shares_mappings_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Mappings> mappings_;  // of UDP endpoints, by gateway and life of its table
  std::unordered_map<Tuple, Given, test::TupleHash> given_;               // by server-side tuple
  std::unordered_map<std::uint32_t, std::vector<Tuple>> peers_;           // server-side tuples of sessions, as servers saw them
  std::unordered_map<std::uint32_t, Tuple> made_;  // server-side tuples of sessions, as gateways made them last
  std::unordered_set<std::uint32_t> made_twice_;   // sessions that had no backup when they were made a second time
  std::unordered_set<std::uint32_t> clashed_;      // sessions
  std::unordered_set<IpAddress, AddressHash> clients_twice_;
};

}  // namespace asrp::sim::act
