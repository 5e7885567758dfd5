// SPDX-License-Identifier: BSD-3-Clause
#include "report/text.hpp"

#include <algorithm>

#include "asrp/wire/layout.hpp"
#include "report/tree.hpp"

namespace asrp::dump {
namespace {

constexpr std::size_t kShownOctets = 32;  // of what is no message, and of Session-Data
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

const char* color_of(Claim claim) {
  switch (claim) {
    case Claim::message:
      return kGreen;
    case Claim::invalid:
      return kRed;
    default:
      return kYellow;
  }
}

/// Enough of a message that ends in its header to say what it would be.
bool has_known_type(Octets octets) { return octets.size() >= 2 && octets[0] == 0 && octets[1] < wire::kMsgTypeCount; }

}  // namespace

TextReport::TextReport(Out& out, const TextOptions& options) : out_(out), options_(options) {
  if (options.names) names_ = std::make_unique<Names>();
}

void TextReport::paint(const char* escape) {
  if (out_.color()) out_.text(escape);
}

/// A signed difference as tcpdump prints it: " 00:00:00.000123".
void TextReport::difference(std::int64_t nanoseconds, std::uint8_t decimals) {
  std::string& out = out_.buffer();
  out.push_back(nanoseconds < 0 ? '-' : ' ');
  const auto size = static_cast<std::uint64_t>(nanoseconds < 0 ? -nanoseconds : nanoseconds);
  const std::uint64_t seconds = size / 1'000'000'000;
  append_padded(out, seconds / 3600, 2);
  out.push_back(':');
  append_padded(out, seconds / 60 % 60, 2);
  out.push_back(':');
  append_padded(out, seconds % 60, 2);
  append_fraction(out, static_cast<std::uint32_t>(size % 1'000'000'000), decimals);
}

void TextReport::time(const Stamp& stamp) {
  std::string& out = out_.buffer();
  const std::int64_t now = stamp.total_nanoseconds();
  if (!first_) first_ = now;
  const std::int64_t previous = previous_.value_or(now);
  previous_ = now;
  switch (options_.time) {
    case TimeStyle::none:
      return;
    case TimeStyle::time_of_day:
      out += clock_.time_of_day(stamp.seconds);
      append_fraction(out, stamp.nanoseconds, stamp.decimals);
      break;
    case TimeStyle::date_and_time:
      out += clock_.date_and_time(stamp.seconds);
      append_fraction(out, stamp.nanoseconds, stamp.decimals);
      break;
    case TimeStyle::seconds:
      append_seconds(out, stamp);
      break;
    case TimeStyle::since_previous:
      difference(now - previous, stamp.decimals);
      break;
    case TimeStyle::since_first:
      difference(now - *first_, stamp.decimals);
      break;
  }
  out.push_back(' ');
}

void TextReport::endpoint(const Endpoint& endpoint, Protocol protocol) {
  if (names_ == nullptr) {
    append_endpoint(out_.buffer(), endpoint);
  } else {
    out_.text(names_->host(endpoint.address)).character(':').text(names_->port(endpoint.port, protocol));
  }
}

void TextReport::tuple(const Tuple& tuple) {
  endpoint(tuple.src, tuple.protocol);
  out_.character('>');
  endpoint(tuple.dst, tuple.protocol);
}

/// Flags, protocol, cookie, tuples and so on, as far as they are known; the order of wire::to_line().
void TextReport::fields(const Sighting& sighting) {
  std::string& out = out_.buffer();
  const wire::Message& message = sighting.message;
  if (message.has(wire::kFlagLip6)) out += " F-LIP6";
  if (message.has(wire::kFlagCc)) out += " F-CC";
  if (message.has(wire::kFlagNa)) out += " F-NA";
  out.push_back(' ');
  append_protocol(out, message.protocol);
  out += " cookie ";
  append_cookie(out, message.cookie);
  if ((sighting.known & known::kSt1) != 0) {
    out += " st1 ";
    tuple(message.st1);
  }
  if ((sighting.known & known::kSt2) != 0) {
    out += " st2 ";
    tuple(message.st2);
  }
  if ((sighting.known & known::kSessionData) != 0 && !message.session_data.empty()) {
    out += " data ";
    append_hex_start(out, message.session_data, kShownOctets);
  }
  if ((sighting.known & known::kNodeLocalIp) != 0) {
    out += " node ";
    append_address(out, message.node_local_ip);
  }
  if ((sighting.raw_flags & ~wire::kFlagsAssigned & 0xff) != 0 || sighting.reserved != 0) out += " unassigned-bits";
  out += " length ";
  append_number(out, sighting.length);
}

void TextReport::message(const Sighting& sighting) {
  std::string& out = out_.buffer();
  const bool has_header = (sighting.known & known::kHeader) != 0;
  out += packet::to_string(sighting.carriage);
  out.push_back(' ');
  paint(color_of(sighting.claim));
  const bool has_type = has_header || (sighting.claim != Claim::not_asrp && has_known_type(sighting.octets));
  if (has_type) append_type(out, static_cast<wire::MsgType>(sighting.octets[1]));
  if (has_type && sighting.claim != Claim::message) out.push_back(' ');
  switch (sighting.claim) {
    case Claim::invalid:
      out_.text("invalid (").text(to_string(sighting.reason)).character(')');
      break;
    case Claim::not_asrp:
      out += "not ASRP?";
      break;
    case Claim::cut:
      out += "cut off by the capture";
      break;
    default:
      break;
  }
  paint(kPlain);
  if (has_header) fields(sighting);
  if (sighting.claim == Claim::message) return;
  out += ", ";
  append_octets(out, sighting.octets.size());
  if (sighting.octets.empty()) return;
  out += ": ";
  append_hex_start(out, sighting.octets, kShownOctets);
}

void TextReport::on_packet(const Packet& packet) {
  if (!packet.sighting.present()) return;
  std::string& out = out_.buffer();
  const Tuple& carrier = packet.view->tuple();
  if (options_.number) {
    append_number(out, packet.number);
    out += "  ";
  }
  time(packet.stamp);
  out += packet.view->is_v4() ? "IP " : "IP6 ";
  endpoint(carrier.src, carrier.protocol);
  out += " > ";
  endpoint(carrier.dst, carrier.protocol);
  out += ": ";
  message(packet.sighting);
  out.push_back('\n');
  if (options_.tree) append_tree(out, packet);
  if (options_.hex == HexStyle::packet) append_hex_dump(out, packet.as_captured, options_.ascii);
  if (options_.hex == HexStyle::frame) append_hex_dump(out, packet.frame, options_.ascii);
  out_.end_of_item();
}

void append_hex_dump(std::string& out, Octets octets, bool ascii) {
  constexpr std::size_t kPerLine = 16;
  constexpr std::size_t kHexColumns = kPerLine / 2 * 5;  // four digits and a space for two octets
  for (std::size_t at = 0; at < octets.size(); at += kPerLine) {
    const Octets line = octets.subspan(at, std::min(kPerLine, octets.size() - at));
    out += "\t0x";
    const std::uint8_t offset[2] = {static_cast<std::uint8_t>(at >> 8), static_cast<std::uint8_t>(at)};
    append_hex(out, offset);
    out += ": ";
    const std::size_t start = out.size();
    for (std::size_t i = 0; i < line.size(); i += 2) {
      out.push_back(' ');
      append_hex(out, line.subspan(i, std::min<std::size_t>(2, line.size() - i)));
    }
    if (ascii) {
      out.append(kHexColumns - (out.size() - start) + 2, ' ');
      for (const std::uint8_t octet : line) out.push_back(octet >= 0x20 && octet < 0x7f ? static_cast<char>(octet) : '.');
    }
    out.push_back('\n');
  }
}

}  // namespace asrp::dump
