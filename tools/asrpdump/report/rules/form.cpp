// SPDX-License-Identifier: BSD-3-Clause
// Rules about one packet by itself.
#include "asrp/packet/checksum.hpp"
#include "decode/sighting.hpp"
#include "report/follow_text.hpp"
#include "report/rules/rule.hpp"

namespace asrp::dump {
namespace {

using packet::Carriage;
using packet::PacketView;
using wire::MsgType;

bool is_standalone(const Case& c) { return c.heard.carriage == Carriage::standalone; }

void reserved_is_zero(const Case& c, const Sighting& sighting) {
  const auto extra = static_cast<std::uint8_t>(sighting.raw_flags & ~wire::kFlagsAssigned);
  if (extra == 0 && sighting.reserved == 0) return;
  std::string what = extra != 0 ? "unassigned flags " + hex8(extra).substr(6) : "";
  if (sighting.reserved != 0) what += (what.empty() ? "Reserved " : ", Reserved ") + hex8(sighting.reserved).substr(6);
  c.find(rule::kReserved, Certainty::certain, {c.at().number},
         name_of(c.message()) + " has " + what + "; both are sent as zero");
}

/// What gives the message a header of its own; null for those that travel with the flow, or may.
const Rule* rule_of_header(MsgType type) {
  switch (type) {
    case MsgType::NA:
      return &rule::kAckDestination;
    case MsgType::NC:
      return &rule::kConflictDestination;
    case MsgType::QS:
      return &rule::kQueryPort;
    case MsgType::RS:
    case MsgType::RX:
      return &rule::kAnswerHeader;
    default:
      return nullptr;
  }
}

// HS and PS have to reach the node that the flow reaches, QS and the answers have headers of their own.
void travels_rightly(const Case& c) {
  const MsgType type = c.message().type;
  const bool with_flow = type == MsgType::HS || type == MsgType::PS;
  if (with_flow && is_standalone(c)) {
    c.find(rule::kCarriage, Certainty::certain, {c.at().number},
           name_of(c.message()) + " is standalone; it travels with the flow");
  }
  const Rule* const header = is_standalone(c) ? nullptr : rule_of_header(type);
  if (header == nullptr) return;
  // Section 4.3.7 speaks of RS, no section of RX.
  c.find(*header, type == MsgType::RX ? Certainty::possible : Certainty::certain, {c.at().number},
         name_of(c.message()) + " travels with a flow; it has a header of its own");
}

void goes_to_port(const Case& c) {
  if (!is_standalone(c) || c.heard.seen.tuple.dst.port == c.memory.port) return;
  const MsgType type = c.message().type;
  if (type != MsgType::NS && type != MsgType::QS) return;  // answers: their own rules
  // Between two other ports it may be another cluster's, with another ASRP-PORT.
  const bool from_port = c.heard.seen.tuple.src.port == c.memory.port;
  c.find(type == MsgType::QS ? rule::kQueryPort : rule::kPort, from_port ? Certainty::certain : Certainty::possible,
         {c.at().number},
         name_of(c.message()) + " goes to port " + std::to_string(c.heard.seen.tuple.dst.port) + ", not to " +
             std::to_string(c.memory.port));
}

void conflict_asks_nothing(const Case& c) {
  if (!c.heard.is(MsgType::NC) || !c.message().has(wire::kFlagNa)) return;
  c.find(rule::kConflictFlags, Certainty::certain, {c.at().number},
         name_of(c.message()) + " has F-NA, which the holder clears");
}

std::optional<bool> checksum_is_right(const Packet& packet) {
  const PacketView& view = *packet.view;
  const Octets transport = view.octets().subspan(view.transport_offset());
  const std::size_t size = view.is_udp() ? load_u16(transport, 4) : transport.size();
  if (packet.captured < view.transport_offset() + size || size > transport.size()) return std::nullopt;
  const std::uint16_t given = load_u16(transport, view.is_udp() ? 6 : 16);
  if (view.is_udp() && given == 0) return view.is_v4() ? std::nullopt : std::optional(false);
  const Tuple& tuple = view.tuple();
  const std::uint16_t right =
      packet::transport_checksum(tuple.src.address, tuple.dst.address, tuple.protocol, transport.first(size));
  return given == right || (given == 0xffff && right == 0);
}

void checksum(const Case& c, const Packet& packet) {
  if (checksum_is_right(packet).value_or(true)) return;
  // Where a packet is captured on the host that sends it, its network card fills the checksum in later.
  c.find(rule::kChecksum, Certainty::possible, {c.at().number},
         "the packet with " + name_of(c.message()) + " has a wrong " + (packet.view->is_tcp() ? "TCP" : "UDP") +
             " checksum, unless it was captured where it was sent");
}

std::uint64_t path_of(const Tuple& tuple) { return flow_hash(tuple) * 2 + (normalised(tuple) == tuple ? 1 : 0); }

// Too large for its path: it had to be cut in pieces, or a router has said how large it may be.
void fits_path(const Case& c, const Packet& packet) {
  if (is_standalone(c)) return;
  if (packet.reassembled && packet.view->is_tcp()) {
    // A router on the path may have cut it, if it was allowed to.
    const bool by_sender = packet.view->dont_fragment();
    c.find(rule::kMtu, by_sender ? Certainty::certain : Certainty::possible, {c.at().number},
           name_of(c.message()) + " made its segment so large that it came in fragments; it belongs into a separate packet");
    return;
  }
  const auto known = c.memory.path_mtus.find(path_of(c.heard.seen.tuple));
  if (known == c.memory.path_mtus.end() || c.heard.copy || c.heard.seen.ip_size <= known->second.octets) return;
  c.find(rule::kMtu, Certainty::possible, {known->second.at.number, c.at().number},
         name_of(c.message()) + " made its packet " + std::to_string(c.heard.seen.ip_size) +
             " octets large, after a router had said " + std::to_string(known->second.octets));
}

std::uint64_t addresses_of(Tuple tuple) {
  tuple.src.port = tuple.dst.port = 0;
  return flow_hash(tuple);
}

// Whether the message can be one in a datagram with the tuple `carrier`, neither of whose ports is ASRP-PORT.
bool belongs(const wire::Message& message, const Tuple& carrier, Follower& follower) {
  switch (message.type) {
    case MsgType::NS:
      return message.node_local_ip == carrier.src.address &&
             (carrier.dst.address == message.st1.src.address || carrier.dst.address == message.st2.dst.address);
    case MsgType::NA:
    case MsgType::NC:
    case MsgType::QS:
      return follower.knows(message.st1);
    case MsgType::RS:
    case MsgType::RX:
      return follower.knows(message.st1) && follower.has_query(message.cookie);
    default:
      return false;
  }
}

// ASRP-PORT is one of those that any program may get for a socket of its own, and what it sends may look like a message.
bool may_be_foreign(const Packet& packet, const Memory& memory) {
  return packet.sighting.carriage == Carriage::standalone && !memory.speakers.contains(addresses_of(packet.view->tuple()));
}

}  // namespace

void learn_speakers(const Heard& heard, Memory& memory) {
  if (heard.message == nullptr || heard.carriage != Carriage::standalone) return;
  if (memory.speakers.size() >= Memory::kMostPairs) memory.speakers.clear();
  memory.speakers.insert(addresses_of(heard.seen.tuple));
}

void check_invalid(const Packet& packet, const Memory& memory, const FindingSink& sink) {
  // Another version is another document's affair.
  if (packet.sighting.claim != Claim::invalid || packet.sighting.reason == Reason::version) return;
  sink({&rule::kValid,
        may_be_foreign(packet, memory) ? Certainty::possible : Certainty::certain,
        {packet.number},
        "what claims to be a message (" + std::string(packet::to_string(packet.sighting.carriage)) +
            ") is none: " + std::string(to_string(packet.sighting.reason)),
        packet.stamp.total_nanoseconds()});
}

std::optional<Packet> find_astray(const Packet& packet, const Memory& memory, Follower& follower) {
  if (packet.sighting.present() || !packet.view || !packet.view->is_udp() || packet.cut()) return std::nullopt;
  const Tuple& tuple = packet.view->tuple();
  if (tuple.dst.port == memory.port) return std::nullopt;
  const Sighting sighting = find_standalone(*packet.view, packet.captured, tuple.dst.port);
  if (sighting.claim != Claim::message || !belongs(sighting.message, tuple, follower)) return std::nullopt;
  Packet found = packet;
  found.sighting = sighting;
  return found;
}

void check_astray_query(const Packet& packet, const FindingSink& sink) {
  sink({&rule::kQueryPort,
        Certainty::certain,
        {packet.number},
        name_of(packet.sighting.message) + " goes to port " + std::to_string(packet.view->tuple().dst.port),
        packet.stamp.total_nanoseconds()});
}

void check_form(const Case& c, const Packet& packet) {
  fits_path(c, packet);
  if (c.heard.copy) return;
  reserved_is_zero(c, packet.sighting);
  travels_rightly(c);
  goes_to_port(c);
  conflict_asks_nothing(c);
  checksum(c, packet);
}

void learn_path(const Packet& icmp, Memory& memory) {
  const PacketView& view = *icmp.view;
  const Octets message = view.octets().subspan(view.transport_offset());
  if (message.size() < 8 || icmp.captured < view.transport_offset() + 8) return;
  const bool too_big = view.is_v4() ? message[0] == 3 && message[1] == 4 : message[0] == 2;
  const std::uint32_t mtu = view.is_v4() ? load_u16(message, 6) : load_u32(message, 4);
  const auto tuple = packet::quoted_tuple(view);
  if (!too_big || mtu == 0 || !tuple || icmp.cut()) return;
  if (memory.path_mtus.size() >= Memory::kMostPaths) memory.path_mtus.clear();
  memory.path_mtus[path_of(*tuple)] = {mtu, {icmp.number, icmp.stamp.total_nanoseconds()}};
}

}  // namespace asrp::dump
