// SPDX-License-Identifier: BSD-3-Clause
// Captures for tests of the reports about sessions: IP packets, one after the other, given to a report through the real
// decoder.
#pragma once

#include <string>
#include <string_view>

#include "asrp/packet/surgery.hpp"
#include "decode/decoder.hpp"
#include "report/report.hpp"
#include "support/builders.hpp"

namespace asrp::test {

/// Time goes on by a millisecond with each packet, unless said otherwise.
class Tape {
 public:
  explicit Tape(dump::Report& report) : report_(report) {}

  /// The packet as the next one of the capture. Returns its number.
  std::uint64_t add(const Buffer& ip) {
    dump::Frame frame;
    frame.number = ++number_;
    now_ += 1'000'000;
    frame.stamp = {1'700'000'000 + off_ + now_ / 1'000'000'000, static_cast<std::uint32_t>(now_ % 1'000'000'000), 9};
    frame.octets = ip;
    frame.wire_size = ip.size();
    if (const dump::Packet* packet = decoder_.decode(frame)) report_.on_packet(*packet);
    return number_;
  }
  /// Only its first `captured` octets were captured.
  std::uint64_t add_cut(const Buffer& ip, std::size_t captured) {
    return add(Buffer(ip.begin(), ip.begin() + static_cast<std::ptrdiff_t>(captured)));
  }
  /// The packets from here on have stamps that are so much off.
  Tape& off_by_s(std::int64_t seconds) { return off_ = seconds, *this; }
  Tape& wait_ms(std::int64_t milliseconds) { return now_ += milliseconds * 1'000'000, *this; }
  /// The next packet comes this much later than the one before, instead of a millisecond.
  Tape& after_us(std::int64_t microseconds) { return now_ += microseconds * 1'000 - 1'000'000, *this; }
  void end() { report_.finish(); }

 private:
  static dump::DecoderOptions options() {
    dump::DecoderOptions options;
    options.link_type = -1;
    return options;
  }

  dump::Report& report_;
  dump::Decoder decoder_{options()};
  std::uint64_t number_ = 0;
  std::int64_t now_ = 0;
  std::int64_t off_ = 0;
};

inline Buffer inline_of(const Buffer& ip, const MessageBuilder& message) {
  Buffer out;
  const auto view = packet::PacketView::parse(ip);
  const Buffer octets = message.build();
  if (!view.has_value() || !packet::insert_inline(view.value(), {}, octets, 65535, out).has_value())
    throw std::logic_error("no room");
  return out;
}

inline Buffer separate_of(const Buffer& ip, const MessageBuilder& message) {
  Buffer out;
  const auto view = packet::PacketView::parse(ip);
  const Buffer octets = message.build();
  if (!view.has_value() || !packet::make_separate(view.value(), {}, octets, 65535, out).has_value())
    throw std::logic_error("no room");
  return out;
}

/// From one of `from`'s ports to `to`'s.
inline Buffer standalone(std::string_view from, std::string_view to, const MessageBuilder& message, std::uint16_t id = 0x1234) {
  return udp(from, to).identification(id).payload(message.build()).build();
}

/// The cluster of these tests: client, service, two nodes, two servers, and a session at server 1 without full NAT.
namespace lab {
inline const TuplePair kPair{tcp_tuple("203.0.113.7:40000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:40000", "10.0.0.1:80")};
inline const std::string kNode1 = "10.9.0.1";
inline const std::string kNode2 = "10.9.0.2";
inline const std::string kServer1 = "10.0.0.1";
inline const std::string kServer2 = "10.0.0.2";
}  // namespace lab

}  // namespace asrp::test
