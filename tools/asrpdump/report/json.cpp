// SPDX-License-Identifier: BSD-3-Clause
#include "report/json.hpp"

#include "asrp/wire/layout.hpp"
#include "report/format.hpp"

namespace asrp::dump {
namespace {

/// `name` with its quotes, comma and colon: ",\"type\":".
void key(std::string& out, std::string_view name) {
  out += ",\"";
  out += name;
  out += "\":";
}

template <typename Append>
void quoted(std::string& out, Append append) {
  out.push_back('"');
  append();
  out.push_back('"');
}

void quoted_address(std::string& out, const IpAddress& address) {
  quoted(out, [&] { append_address(out, address); });
}

void address(std::string& out, std::string_view name, const IpAddress& value) {
  key(out, name);
  quoted_address(out, value);
}

void number(std::string& out, std::string_view name, std::uint64_t value) {
  key(out, name);
  append_number(out, value);
}

void tuple(std::string& out, std::string_view name, const Tuple& value) {
  key(out, name);
  append_json(out, value);
}

/// A name where the draft has one, else the number.
void name_or_number(std::string& out, std::string_view name, std::uint8_t number) {
  if (name == "?") {
    append_number(out, number);
  } else {
    quoted(out, [&] { out += name; });
  }
}

void flags(std::string& out, std::uint8_t flags) {
  constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {
      {wire::kFlagLip6, "\"F-LIP6\""}, {wire::kFlagCc, "\"F-CC\""}, {wire::kFlagNa, "\"F-NA\""}};
  key(out, "flags");
  out.push_back('[');
  bool is_first = true;
  for (const auto& [bit, name] : kNames) {
    if ((flags & bit) == 0) continue;
    if (!is_first) out.push_back(',');
    out += name;
    is_first = false;
  }
  out.push_back(']');
}

/// The fields that lie within `octets`: not all, if the message or the capture ends inside the header.
void header(std::string& out, Octets octets) {
  if (octets.size() < 2 || octets[0] != kVersion) return;
  key(out, "type");
  name_or_number(out, wire::to_string(static_cast<wire::MsgType>(octets[1])), octets[1]);
  if (octets.size() < 3) return;
  key(out, "sttype");
  name_or_number(out, wire::to_string(static_cast<wire::StType>(octets[2])), octets[2]);
  if (octets.size() < 4) return;
  flags(out, octets[3]);
  if (octets.size() < 6) return;
  number(out, "length", load_u16(octets, 4));
  if (octets.size() < 8) return;
  key(out, "protocol");
  append_json(out, static_cast<Protocol>(octets[7]));
  if (octets.size() < kHeaderSize) return;
  key(out, "cookie");
  quoted(out, [&] { append_cookie(out, Cookie{load_u32(octets, 8)}); });
}

void body(std::string& out, const Sighting& sighting) {
  const wire::Message& message = sighting.message;
  if ((sighting.known & known::kSt1) != 0) tuple(out, "st1", message.st1);
  if ((sighting.known & known::kSt2) != 0) tuple(out, "st2", message.st2);
  if ((sighting.known & known::kSessionData) != 0) {
    key(out, "session_data");
    quoted(out, [&] { append_hex(out, message.session_data); });
  }
  if ((sighting.known & known::kNodeLocalIp) != 0) address(out, "node_local_ip", message.node_local_ip);
}

void verdict(std::string& out, const Sighting& sighting) {
  key(out, "valid");
  if (sighting.claim == Claim::message) {
    out += "true";
    return;
  }
  out += "false";
  key(out, "reason");
  const bool is_cut = sighting.claim == Claim::cut;
  quoted(out, [&] { out += to_string(is_cut ? Reason::truncated : sighting.reason); });
  if (is_cut) out += ",\"cut\":true";
  if (sighting.claim == Claim::not_asrp) out += ",\"not_asrp\":true";
  key(out, "octets");
  quoted(out, [&] { append_hex(out, sighting.octets); });
}

void carrier(std::string& out, const Packet& packet) {
  const Tuple& tuple = packet.view->tuple();
  out += "{\"time\":";
  append_seconds(out, packet.stamp);
  number(out, "frame", packet.number);
  address(out, "src", tuple.src.address);
  address(out, "dst", tuple.dst.address);
  number(out, "sport", tuple.src.port);
  number(out, "dport", tuple.dst.port);
  key(out, "carriage");
  quoted(out, [&] { out += packet::to_string(packet.sighting.carriage); });
}

}  // namespace

void append_json(std::string& out, Protocol protocol) {
  const bool is_named = protocol == Protocol::tcp || protocol == Protocol::udp;
  if (is_named) out.push_back('"');
  append_protocol(out, protocol);
  if (is_named) out.push_back('"');
}

void append_json(std::string& out, const Tuple& tuple) {
  out += "{\"src\":";
  quoted_address(out, tuple.src.address);
  number(out, "sport", tuple.src.port);
  address(out, "dst", tuple.dst.address);
  number(out, "dport", tuple.dst.port);
  out.push_back('}');
}

void append_json(std::string& out, const Packet& packet) {
  const Sighting& sighting = packet.sighting;
  carrier(out, packet);
  if (sighting.claim != Claim::not_asrp) header(out, sighting.octets);
  body(out, sighting);
  verdict(out, sighting);
  if ((sighting.known & known::kHeader) != 0 && (sighting.raw_flags & ~wire::kFlagsAssigned & 0xff) != 0) {
    number(out, "unassigned_flags", static_cast<std::uint8_t>(sighting.raw_flags & ~wire::kFlagsAssigned));
  }
  if (sighting.reserved != 0) number(out, "reserved", sighting.reserved);
  if (packet.reassembled) out += ",\"reassembled\":true";
  out.push_back('}');
}

void JsonReport::on_packet(const Packet& packet) {
  if (!packet.sighting.present()) return;
  append_json(out_.buffer(), packet);
  out_.character('\n');
  out_.end_of_item();
}

}  // namespace asrp::dump
