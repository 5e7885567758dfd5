// SPDX-License-Identifier: BSD-3-Clause
#include "report/tree.hpp"

#include <algorithm>
#include <string_view>

#include "asrp/base/limits.hpp"
#include "asrp/wire/layout.hpp"
#include "report/format.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kShownOctets = 16;   // of one field
constexpr std::size_t kOctetsColumn = 11;  // digits of most fields fit
constexpr std::size_t kNameColumn = 18;

/// Appends the rows one after the other; stops at the end of what was captured.
class Rows {
 public:
  Rows(std::string& out, Octets octets) : out_(out), octets_(octets) {}

  /// One row of `size` octets; `value(out, octets)` appends what they mean. False if they aren't all there.
  template <typename Value>
  bool row(std::string_view name, std::size_t size, Value value) {
    if (is_ended_) return false;
    if (octets_.size() - at_ < size) return end(name, size);
    const Octets field = octets_.subspan(at_, size);
    begin(name);
    const std::size_t start = out_.size();
    append_hex_start(out_, field, kShownOctets);
    out_.append(kOctetsColumn - std::min(kOctetsColumn - 1, out_.size() - start), ' ');
    value(out_, field);
    out_.erase(out_.find_last_not_of(' ') + 1);
    out_.push_back('\n');
    at_ += size;
    return true;
  }
  [[nodiscard]] std::size_t left() const { return octets_.size() - at_; }

 private:
  void begin(std::string_view name) {
    out_ += "      ";
    const std::size_t start = out_.size();
    append_number(out_, at_);
    out_.append(5 - std::min<std::size_t>(4, out_.size() - start), ' ');
    out_ += name;
    out_.append(kNameColumn - std::min(kNameColumn - 1, name.size()), ' ');
  }
  bool end(std::string_view name, std::size_t size) {
    begin(name);
    append_hex_start(out_, octets_.subspan(at_), kShownOctets);
    out_ += left() == 0 ? "(not there)\n" : " (" + std::to_string(left()) + " of " + counted(size, "octet") + ")\n";
    is_ended_ = true;
    return false;
  }

  std::string& out_;
  Octets octets_;
  std::size_t at_ = 0;
  bool is_ended_ = false;
};

void value_u8(std::string& out, Octets field) { append_number(out, field[0]); }
void value_u16(std::string& out, Octets field) { append_number(out, load_u16(field, 0)); }
void value_none(std::string& /*out*/, Octets /*field*/) {}
void value_address(std::string& out, Octets field) {
  append_address(out, field.size() == 4 ? IpAddress::v4(field) : IpAddress::v6(field));
}

void value_type(std::string& out, Octets field) { append_type(out, static_cast<wire::MsgType>(field[0])); }

void value_sttype(std::string& out, Octets field) {
  out += field[0] < wire::kStTypeCount ? to_string(static_cast<wire::StType>(field[0])) : "unknown";
}

void value_flags(std::string& out, Octets field) {
  const std::uint8_t flags = field[0];
  const std::size_t start = out.size();
  if ((flags & wire::kFlagLip6) != 0) out += "F-LIP6 ";
  if ((flags & wire::kFlagCc) != 0) out += "F-CC ";
  if ((flags & wire::kFlagNa) != 0) out += "F-NA ";
  if ((flags & ~wire::kFlagsAssigned & 0xff) != 0) out += "and unassigned bits";
  if (out.size() == start) out += "none";
  if (out.back() == ' ') out.pop_back();
}

void value_protocol(std::string& out, Octets field) { append_protocol(out, static_cast<Protocol>(field[0])); }

bool tuple_rows(Rows& rows, std::string_view name, bool is_v6) {
  const std::size_t address = is_v6 ? 16 : 4;
  const std::string prefix(name);
  return rows.row(prefix + " source", address, value_address) && rows.row(prefix + " destination", address, value_address) &&
         rows.row(prefix + " source port", 2, value_u16) && rows.row(prefix + " dest. port", 2, value_u16);
}

void body_rows(Rows& rows, const Sighting& sighting) {
  const auto type = static_cast<std::uint8_t>(sighting.message.type);
  const auto sttype = static_cast<std::uint8_t>(sighting.sttype);
  const bool is_known = type < wire::kMsgTypeCount && sttype < wire::kStTypeCount &&
                        wire::kStLayouts[sttype].tuples == wire::kTypeLayouts[type].tuples;
  if (!is_known) {
    if (rows.left() != 0) rows.row("Body", rows.left(), value_none);
    return;
  }
  const wire::TypeLayout& layout = wire::kTypeLayouts[type];
  const wire::StLayout tuples = wire::kStLayouts[sttype];
  if (layout.reserved_body != 0 && !rows.row("Reserved", layout.reserved_body, value_none)) return;
  if (layout.tuples != wire::TupleCount::none && !tuple_rows(rows, "ST1", tuples.first_v6)) return;
  if (layout.tuples == wire::TupleCount::pair && !tuple_rows(rows, "ST2", tuples.second_v6)) return;
  std::size_t local_ip = 0;
  if (layout.has_node_local_ip) local_ip = sighting.message.has(wire::kFlagLip6) ? 16 : 4;
  if (sighting.claim == Claim::cut) local_ip = 0;  // it stands at the end, which isn't there
  if (rows.left() > local_ip) rows.row("Session-Data", rows.left() - local_ip, value_none);
  if (local_ip != 0) rows.row("Node-Local-IP", local_ip, value_address);
}

void message_rows(std::string& out, const Sighting& sighting) {
  Rows rows(out, sighting.octets);
  if (sighting.claim == Claim::not_asrp || (!sighting.octets.empty() && sighting.octets[0] != kVersion)) {
    if (rows.left() != 0) rows.row("Data", rows.left(), value_none);
    return;
  }
  const bool has_header = rows.row("Version", 1, value_u8) && rows.row("MsgType", 1, value_type) &&
                          rows.row("STType", 1, value_sttype) && rows.row("Flags", 1, value_flags) &&
                          rows.row("Length", 2, value_u16) && rows.row("Reserved", 1, value_u8) &&
                          rows.row("Protocol", 1, value_protocol) && rows.row("Cookie", 4, value_none);
  if (has_header) body_rows(rows, sighting);
}

void tcp_line(std::string& out, const packet::PacketView& view) {
  constexpr std::pair<std::uint8_t, std::string_view> kNames[] = {{packet::kTcpSyn, " SYN"},
                                                                  {packet::kTcpFin, " FIN"},
                                                                  {packet::kTcpRst, " RST"},
                                                                  {packet::kTcpPsh, " PSH"},
                                                                  {packet::kTcpAck, " ACK"}};
  out += "; TCP";
  for (const auto& [bit, name] : kNames) {
    if ((view.tcp_flags() & bit) != 0) out += name;
  }
  out += ", seq ";
  append_number(out, view.tcp_sequence());
  if ((view.tcp_flags() & packet::kTcpAck) != 0) {
    out += ", ack ";
    append_number(out, view.tcp_acknowledgment());
  }
}

void carrier_line(std::string& out, const Packet& packet) {
  const packet::PacketView& view = *packet.view;
  out += "    Frame ";
  append_number(out, packet.number);
  out += ", ";
  append_octets(out, packet.frame_size);
  if (packet.reassembled) out += ", last fragment";
  if (packet.frame.size() < packet.frame_size) {
    out += ", ";
    append_number(out, packet.frame.size());
    out += " captured";
  }
  out += view.is_v4() ? "; IPv4, ttl " : "; IPv6, hop limit ";
  append_number(out, view.ttl());
  out += ", ";
  append_octets(out, packet.ip.size());
  if (view.is_tcp()) tcp_line(out, view);
  if (view.is_udp()) out += "; UDP";
  out += ", data ";
  append_number(out, view.payload_size());
  if (view.is_udp() && !view.surplus().empty()) {
    out += ", surplus area ";
    append_number(out, view.surplus().size());
  }
  out.push_back('\n');
}

}  // namespace

void append_tree(std::string& out, const Packet& packet) {
  carrier_line(out, packet);
  out += "    ASRP message at ";
  append_number(out, packet.sighting.offset);
  out += " of the IP packet, ";
  append_octets(out, packet.sighting.octets.size());
  out.push_back('\n');
  message_rows(out, packet.sighting);
}

}  // namespace asrp::dump
