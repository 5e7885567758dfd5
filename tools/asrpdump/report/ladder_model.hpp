// SPDX-License-Identifier: BSD-3-Clause
// What a sequence diagram shows, before it is drawn: lanes of participants, and rows from lane to lane.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/follow.hpp"
#include "report/follow_places.hpp"

namespace asrp::dump {

/// A packet as it was heard.
struct LadderEvent {
  Moment at;
  std::optional<wire::MsgType> type;  // nothing: a packet of the flow
  packet::Carriage carriage = packet::Carriage::standalone;
  bool standalone = false;
  bool to_server = false;
  Side side = Side::none;
  IpAddress src;
  IpAddress dst;
  std::uint8_t flags = 0;
  std::uint8_t tcp_flags = 0;
  bool tcp = false;
  std::uint32_t data = 0;
  Cookie cookie;
  std::optional<Moment> came;
  std::uint64_t node_place = 0;   // the neighbour towards the node, or from there; 0: not known
  std::optional<IpAddress> node;  // that the message names
};

struct LadderLane {
  std::string role;     // client, node, server
  std::string address;  // empty: not known
};

struct LadderRow {
  Moment at;
  std::size_t from = 0;  // lanes
  std::size_t to = 0;
  std::optional<wire::MsgType> type;
  std::string label;                 // short: what is written at the arrow
  std::string detail;                // the rest
  std::optional<Moment> held_since;  // at the lane `from`
};

/// The diagram of one session.
struct Ladder : Attachment {
  std::uint64_t id = 0;
  std::string name;    // "tcp 203.0.113.7:40000>198.51.100.1:80"
  std::string behind;  // the same behind the node; empty if that is not known
  unsigned score = 0;  // how much it tells
  std::vector<LadderEvent> events;
  std::uint64_t left_out = 0;  // events behind those
  std::vector<LadderLane> lanes;
  std::vector<LadderRow> rows;

  [[nodiscard]] std::size_t octets() const override { return sizeof(*this) + events.capacity() * sizeof(LadderEvent); }
  /// Lanes and rows from the events, when the session is complete.
  void arrange(const Session& session, NodePlaces& places);
};

LadderEvent event_of(const Heard& heard);

}  // namespace asrp::dump
