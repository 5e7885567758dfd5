// SPDX-License-Identifier: BSD-3-Clause
#include "sim/act/truth.hpp"

#include "asrp/policy/port_choice.hpp"

namespace asrp::sim::act {

bool ActTruth::is_live(std::uint32_t id) const {
  const Session& session = sessions[id];
  const auto now_there = running.find(session.client_side);
  const bool has_begun = now_there != running.end() && now_there->second == id;
  return has_begun && !session.is_done && !session.was_reset && !session.is_abandoned;
}

void ActTruth::created(const TuplePair& tuples, const Maker& maker) {
  if (!ranges_.in_range(tuples.client_side.src, tuples.server_side.src)) {
    wrong("gateway: a port outside of its client's range, " + tuples.server_side.to_string());
  }
  const auto range = ranges_.range_of(tuples.client_side.src.address);
  const bool chooses = range && !range->keeps_port && tuples.client_side.protocol == Protocol::tcp && ranges_.slices() > 1;
  if (chooses && !slice_of(*range, static_cast<unsigned>(maker.node), ranges_.slices()).contains(tuples.server_side.src.port)) {
    wrong("gateway " + std::to_string(maker.node) + ": a port of another one's slice, " + tuples.server_side.to_string());
  }
  const auto found = running.find(tuples.client_side);
  if (found == running.end()) return wrong("gateway: made a session of nobody, " + tuples.client_side.to_string());
  const std::uint32_t id = found->second;
  const auto [made, is_first] = made_.try_emplace(id, tuples.server_side);
  const Tuple before = made->second;
  made->second = tuples.server_side;
  if (!is_first && before != tuples.server_side && !is_backed_up({tuples.client_side, before})) made_twice_.insert(id);
  if (shares_mappings_ && tuples.client_side.protocol == Protocol::udp) check_mapping(tuples, id, maker);
  const auto [place, is_new] = given_.try_emplace(tuples.server_side, Given{id, maker});
  const Given former = place->second;
  place->second = {id, maker};
  if (is_new || former.id == id || !is_live(former.id) || !is_live(id)) return;
  // A SYN that took two gateways has two mappings, and its connection lives by one of them: by the one that has its backup.
  const std::vector<Tuple>& peers = peers_[former.id];
  const Session& holder = sessions[former.id];
  const bool has_come = peers.empty() || std::find(peers.begin(), peers.end(), tuples.server_side) != peers.end();
  const bool is_used = has_come && (!holder.is_protected || holder.protected_tuples.server_side == tuples.server_side);
  if (!is_used) return;
  ++ports_twice;
  clients_twice_.insert(tuples.client_side.src.address);
  clashed_.insert({id, former.id});
  if (former.maker.node == maker.node && former.maker.life != maker.life) {
    ++given_again;
    return;
  }
  wrong("gateway " + std::to_string(maker.node) + ": an outside port that another session has, by gateway " +
        std::to_string(former.maker.node) + ": " + tuples.server_side.to_string());
}

/// At one gateway all sessions of a client's endpoint have one outside endpoint, and no other endpoint has that (RFC 4787 REQ-1
/// and REQ-3).
void ActTruth::check_mapping(const TuplePair& tuples, std::uint32_t id, const Maker& maker) {
  Mappings& mappings = mappings_[{maker.node, maker.life}];
  const Endpoint& inside = tuples.client_side.src;
  const Endpoint& outside = tuples.server_side.src;
  for (const auto& [from, to] : {std::pair(inside, outside), std::pair(outside, inside)}) {
    const auto [place, is_new] = mappings.try_emplace(Tuple{from, from, Protocol::udp}, Mapped{to, id});
    const Mapped former = place->second;
    place->second = {to, id};
    if (is_new || former.id == id || former.other == to || !is_live(former.id)) continue;
    wrong("gateway " + std::to_string(maker.node) + ": a second mapping, " + tuples.client_side.to_string() + " as " +
          outside.to_string() + ", of " + from.to_string() + " with " + former.other.to_string());
  }
}

void ActTruth::stored(const TuplePair& tuples) {
  Truth::stored(tuples);
  const auto found = running.find(tuples.client_side);
  if (found == running.end()) return;
  Session& session = sessions[found->second];
  const std::vector<Tuple>& peers = peers_[session.id];
  if (!std::all_of(peers.begin(), peers.end(), [&](const Tuple& peer) { return peer == tuples.server_side; })) return;
  session.is_protected = true;
  session.protected_tuples = tuples;
}

void ActTruth::released(const TuplePair& tuples) {
  Truth::released(tuples);
  const auto found = running.find(tuples.client_side);
  if (found == running.end() || !is_live(found->second)) return;
  Session& session = sessions[found->second];
  if (session.protected_tuples == tuples) session.is_protected = false;
}

void ActTruth::reached(std::uint32_t id, const Tuple& peer) {
  if (!ranges_.in_range(sessions[id].client_side.src, peer.src)) {
    wrong("server: a packet from outside of its client's range, " + peer.to_string());
  }
  std::vector<Tuple>& peers = peers_[id];
  if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
}

/// A gateway that did not see the end of a session has an entry of it for a while, which leads to the client's port of then: to
/// nobody, or to who has that port now.
bool ActTruth::is_excused_clash(std::uint32_t owner_of_it, std::optional<std::uint32_t> receiver) const {
  if (clashed_.contains(owner_of_it)) return true;
  if (!receiver) return false;
  if (clashed_.contains(*receiver) || !is_live(*receiver)) return true;
  const auto own = peers_.find(owner_of_it);
  for (auto former = sessions[*receiver].follows; former && own != peers_.end(); former = sessions[*former].follows) {
    const auto peers = peers_.find(*former);
    if (peers == peers_.end()) continue;
    if (std::find_first_of(own->second.begin(), own->second.end(), peers->second.begin(), peers->second.end()) !=
        own->second.end()) {
      return true;
    }
  }
  return false;
}

bool ActTruth::is_excused(std::uint32_t id) const {
  const Session& session = sessions[id];
  return is_moved(id) || is_outlived(id) || session.was_exposed || session.was_misled || clashed_.contains(id);
}

}  // namespace asrp::sim::act
