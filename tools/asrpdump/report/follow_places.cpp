// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_places.hpp"

#include <algorithm>

#include "decode/places.hpp"
#include "report/follow.hpp"

namespace asrp::dump {

using wire::MsgType;

void NodePlaces::learn(std::uint64_t place, const IpAddress& node) {
  if (place == 0 || (places_.size() >= kMost && !places_.contains(place))) return;
  Known& known = places_[place];
  if (known.node && known.node != node) known.several = true;
  known.node = node;
}

std::optional<IpAddress> NodePlaces::node_at(std::uint64_t place) const {
  const auto known = places_.find(place);
  return known == places_.end() || known->second.several ? std::nullopt : known->second.node;
}

unsigned NodePlaces::unnamed_at(std::uint64_t place) {
  const auto tells = [](const auto& known) { return known.second.node && !known.second.several; };
  if (place == 0 || places_.size() >= kMost || std::none_of(places_.begin(), places_.end(), tells)) return 0;
  Known& known = places_[place];
  if (known.node) return 0;
  if (known.unnamed == 0) known.unnamed = ++unnamed_;
  return known.unnamed;
}

void NodePlaces::join(std::uint64_t place, std::uint64_t other) {
  if (place == 0 || other == 0 || places_.size() >= kMost) return;
  Known& one = places_[place];
  Known& two = places_[other];
  if (one.node || two.node) return;
  const unsigned less = std::min(one.unnamed, two.unnamed);
  const unsigned more = std::max(one.unnamed, two.unnamed);
  one.unnamed = two.unnamed = less != 0 ? less : more;
}

std::optional<IpAddress> node_named_by(const Heard& heard) {
  if (heard.message == nullptr) return std::nullopt;
  switch (heard.message->type) {
    case MsgType::NS:
      return heard.message->node_local_ip;
    case MsgType::QS:
      return heard.seen.tuple.src.address;
    case MsgType::NA:
    case MsgType::NC:
    case MsgType::RS:
    case MsgType::RX:
      return heard.seen.tuple.dst.address;
    default:
      return std::nullopt;
  }
}

std::uint64_t node_place_of(const Heard& heard) {
  if (heard.packet == nullptr) return 0;
  const Places places = places_of(heard.packet->frame, heard.packet->link_type);
  const bool standalone = heard.message != nullptr && heard.carriage == packet::Carriage::standalone;
  const bool asks = standalone && (heard.is(MsgType::NS) || heard.is(MsgType::QS));
  const bool leaves_node = standalone ? asks : (heard.side == Side::server) == heard.to_server;
  return leaves_node ? places.from : places.to;
}

}  // namespace asrp::dump
