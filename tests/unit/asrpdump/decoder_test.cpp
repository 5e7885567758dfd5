// SPDX-License-Identifier: BSD-3-Clause
#include "decode/decoder.hpp"

#include <doctest/doctest.h>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::dump;
using namespace asrp::test;

namespace {

const TuplePair kPair{tcp_tuple("203.0.113.7:40000", "198.51.100.1:80"), tcp_tuple("203.0.113.7:40000", "10.0.0.1:80")};
const MessageBuilder kNs = ns(kPair).cookie(0xc0ffee).node("10.9.0.1").wants_ack();

/// Decodes IP packets, one after the other.
class Bench {
 public:
  explicit Bench(DecoderOptions options = {}) : decoder_(raw(options)) {}

  const Packet* take(Octets ip, std::size_t wire_size = 0) {
    Frame frame;
    frame.number = ++number_;
    frame.stamp.seconds = second_;
    frame.octets = ip;
    frame.wire_size = std::max(wire_size, ip.size());
    return decoder_.decode(frame);
  }
  Bench& at(std::int64_t second) { return second_ = second, *this; }
  Decoder& decoder() { return decoder_; }

 private:
  static DecoderOptions raw(DecoderOptions options) {
    options.link_type = -1;
    return options;
  }
  Decoder decoder_;
  std::uint64_t number_ = 0;
  std::int64_t second_ = 1000;
};

Buffer with_message(const Buffer& ip, const Buffer& message) {
  Buffer out;
  const auto view = packet::PacketView::parse(ip);
  REQUIRE(view.has_value());
  REQUIRE(packet::insert_inline(*view, {}, message, 65535, out).has_value());
  return out;
}

Buffer tcp_ns() {
  return with_message(tcp("203.0.113.7:40000", "198.51.100.1:80").syn().options("020405b4").build(), kNs.build());
}
Buffer udp_ns() { return with_message(udp("203.0.113.7:40000", "198.51.100.1:53").payload("hello").build(), kNs.build()); }
Buffer qs6() {
  return udp("[2001:db8::1]:51200", "[2001:db8::2]:51200")
      .extension(0, "00010400000000")
      .payload(qs(tcp_tuple("[2001:db8::7]:40000", "[2001:db8::1]:80")).build())
      .build();
}
Buffer standalone_of(Buffer payload) { return udp("10.0.0.1:40000", "10.0.0.2:51200").payload(std::move(payload)).build(); }

Sighting sighting_of(const Buffer& ip) {
  Bench bench;
  const Packet* const packet = bench.take(ip);
  REQUIRE(packet != nullptr);
  return packet->sighting;
}

/// What must be known of the message `full` if `size` octets of its packet are there.
std::uint8_t known_of(const Sighting& full, std::size_t size) {
  const std::size_t real = size - std::min(size, full.offset);
  const bool is_pair = (full.known & known::kSt2) != 0;
  const std::size_t tuple = full.message.st1.src.address.is_v4() ? 12 : 36;
  std::uint8_t bits = real >= 12 ? known::kHeader : std::uint8_t{0};
  if (real >= 12 + tuple) bits |= known::kSt1;
  if (is_pair && real >= 12 + 2 * tuple) bits |= known::kSt2;
  return bits;
}

/// One fragment of an IPv4 packet: payload octets `begin` to `end`.
Buffer fragment(const Buffer& ip, std::size_t begin, std::size_t end) {
  const std::size_t size = ip.size() - 20;
  end = std::min(end, size);
  Buffer out(ip.begin(), ip.begin() + 20);
  out.insert(out.end(), ip.begin() + 20 + static_cast<std::ptrdiff_t>(begin),
             ip.begin() + 20 + static_cast<std::ptrdiff_t>(end));
  store_u16(out, 2, static_cast<std::uint16_t>(out.size()));
  store_u16(out, 6, static_cast<std::uint16_t>((end < size ? 0x2000 : 0) | begin / 8));
  return out;
}

std::vector<Buffer> fragments(const Buffer& ip, std::size_t step) {
  std::vector<Buffer> pieces;
  for (std::size_t at = 0; at < ip.size() - 20; at += step) pieces.push_back(fragment(ip, at, at + step));
  return pieces;
}

}  // namespace

TEST_CASE("a message in each carriage") {
  CHECK(sighting_of(tcp_ns()).carriage == packet::Carriage::inline_tcp);
  CHECK(sighting_of(udp_ns()).carriage == packet::Carriage::inline_udp);
  CHECK(sighting_of(qs6()).carriage == packet::Carriage::standalone);
  for (const Buffer& ip : {tcp_ns(), udp_ns(), qs6()}) {
    const Sighting sighting = sighting_of(ip);
    CHECK(sighting.claim == Claim::message);
    CHECK(Buffer(sighting.octets.begin(), sighting.octets.end()) ==
          Buffer(ip.begin() + static_cast<std::ptrdiff_t>(sighting.offset),
                 ip.begin() + static_cast<std::ptrdiff_t>(sighting.offset + sighting.octets.size())));
    CHECK(wire::decode(sighting.octets).has_value());
  }
}

TEST_CASE("cut anywhere, a message is a message, cut, or not yet seen; never invalid") {
  for (const Buffer& whole : {tcp_ns(), udp_ns(), qs6()}) {
    const Sighting full = sighting_of(whole);
    std::vector<std::size_t> was_cut;
    std::uint8_t all_known = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(size);
      const Buffer part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      Bench bench;
      const Packet* const packet = bench.take(part, whole.size());
      if (packet == nullptr) continue;
      REQUIRE(packet->cut());
      REQUIRE(packet->ip.size() == whole.size());
      const Sighting& sighting = packet->sighting;
      CHECK((sighting.claim == Claim::none || sighting.claim == Claim::cut));  // the message is the packet's last part
      if (sighting.claim == Claim::none) continue;
      const std::uint8_t known = known_of(full, size);
      CHECK(sighting.known == known);
      CHECK(sighting.message.st1 == ((known & known::kSt1) != 0 ? full.message.st1 : Tuple{}));
      CHECK(sighting.message.st2 == ((known & known::kSt2) != 0 ? full.message.st2 : Tuple{}));
      CHECK(sighting.message.cookie == ((known & known::kHeader) != 0 ? full.message.cookie : Cookie{}));
      all_known |= known;
      was_cut.push_back(size);
    }
    // From some octet on without a gap.
    REQUIRE_FALSE(was_cut.empty());
    CHECK(was_cut.back() == whole.size() - 1);
    CHECK(was_cut.back() - was_cut.front() == was_cut.size() - 1);
    CHECK((all_known & known::kHeader) != 0);
  }
}

TEST_CASE("a segment that is cut behind its message has a whole message") {
  const Buffer ip = with_message(tcp("203.0.113.7:40000", "198.51.100.1:80").push().data(500).build(), kNs.build());
  Bench bench;
  const Packet* const packet = bench.take(Octets(ip).first(200), ip.size());
  REQUIRE(packet != nullptr);
  CHECK(packet->sighting.claim == Claim::message);
}

TEST_CASE("what is damaged has its reason, also when what follows is cut off") {
  Buffer message = kNs.build();
  const auto reason_of = [](Buffer octets, std::size_t at, std::uint8_t value) {
    octets[at] = value;
    return sighting_of(standalone_of(octets)).reason;
  };
  CHECK(reason_of(message, 2, 9) == Reason::sttype);
  CHECK(reason_of(message, 2, 5) == Reason::sttype);
  CHECK(reason_of(message, 5, 41) == Reason::length);
  CHECK(sighting_of(standalone_of(Buffer(message.begin(), message.begin() + 11))).reason == Reason::truncated);

  message[2] = 5;
  const Buffer ip = standalone_of(message);
  Bench bench;
  const Packet* const packet = bench.take(Octets(ip).first(31), ip.size());
  REQUIRE(packet != nullptr);
  CHECK(packet->sighting.claim == Claim::invalid);
  CHECK(packet->sighting.reason == Reason::sttype);
}

TEST_CASE("a segment with the option and no message") {
  const auto claim = [](const char* payload) {
    const Sighting sighting =
        sighting_of(tcp("10.0.0.1:1", "10.0.0.2:2").push().options("fd044153").payload(hex(payload)).build());
    CHECK(sighting.claim == Claim::invalid);
    return sighting.reason;
  };
  CHECK(claim("") == Reason::truncated);
  CHECK(claim("474554202f20485454502f312e30") == Reason::version);
  CHECK(claim("000900000010000600c0ffee00000000") == Reason::type);
  CHECK(claim("000000000010000600c0ffee00000000") == Reason::sttype);
  CHECK(claim("0001010000ff000600c0ffee00000000") == Reason::truncated);
  CHECK(claim("00050000000c000600c0ffee00000000") == Reason::length);
}

TEST_CASE("options that are there twice, or run out of the header") {
  const auto reason = [](const char* options) {
    return sighting_of(tcp("10.0.0.1:1", "10.0.0.2:2").syn().options(options).payload(kNs.build()).build()).reason;
  };
  CHECK(reason("fd044153fd044153") == Reason::option);
  CHECK(reason("fd044153fd000000") == Reason::option);
  CHECK(reason("fd044153fdff0000") == Reason::option);
  CHECK(reason("fd04415301010102") == Reason::option);
  // Behind a malformed one, or behind the end, ours isn't there.
  for (const auto* options : {"50000000fd044153", "fd01fd044153fd04", "00000000fd044153", "fd044154"}) {
    CHECK_FALSE(sighting_of(tcp("10.0.0.1:1", "10.0.0.2:2").syn().options(options).payload("data").build()).present());
  }
}

TEST_CASE("a surplus area with a wrong or missing checksum") {
  Buffer ip = udp_ns();
  const std::size_t ocs = 28 + 5 + 1;
  ip[ocs] ^= 1;
  CHECK(sighting_of(ip).reason == Reason::ocs);
  store_u16(ip, ocs, 0);
  CHECK(sighting_of(ip).reason == Reason::ocs);
  store_u16(ip, 26, 0);  // without a UDP checksum it may be missing
  CHECK(sighting_of(ip).claim == Claim::message);
  ip[ocs - 1] = 1;  // the pad octet
  CHECK(sighting_of(ip).reason == Reason::option);
}

TEST_CASE("padding of the link is no surplus area") {
  Buffer ip = udp("10.0.0.1:1000", "10.0.0.2:2000").payload("hello").build();
  ip.resize(60, 0);
  CHECK_FALSE(sighting_of(ip).present());
}

TEST_CASE("a datagram at the port that is none of ours") {
  CHECK(sighting_of(standalone_of(hex("450000"))).claim == Claim::not_asrp);
  CHECK(sighting_of(standalone_of(hex("0008"))).claim == Claim::not_asrp);
  CHECK(sighting_of(standalone_of({})).claim == Claim::not_asrp);
  CHECK(sighting_of(standalone_of(hex("0005"))).claim == Claim::invalid);
  // A program that was given the port for a socket of its own: what it sends claims nothing, unless it is a message.
  for (const char* const query : {"123401000001", "0005010000010000", "00", ""}) {
    CHECK_FALSE(sighting_of(udp("10.0.0.1:51200", "10.0.0.2:53").payload(hex(query)).build()).present());
  }
  CHECK(sighting_of(udp("10.0.0.1:51200", "10.0.0.2:53").payload(kNs.build()).build()).claim == Claim::message);
  CHECK_FALSE(sighting_of(udp("10.0.0.1:51201", "10.0.0.2:53").payload(kNs.build()).build()).present());
}

TEST_CASE("other kinds, another ExID, another port") {
  DecoderOptions options;
  options.marker.tcp_kind = 77;
  options.port = 4000;
  Bench bench(options);
  const Packet* packet = bench.take(tcp("10.0.0.1:1", "10.0.0.2:2").syn().options("01014d02").payload(kNs.build()).build());
  REQUIRE(packet != nullptr);
  CHECK(packet->sighting.claim == Claim::message);
  const Buffer plain = udp("10.0.0.1:1", "10.0.0.2:4000").payload(kNs.build()).build();
  packet = bench.take(plain);
  REQUIRE(packet != nullptr);
  CHECK(packet->sighting.claim == Claim::message);
  CHECK_FALSE(bench.take(tcp_ns())->sighting.present());
}

TEST_CASE("a datagram to ASRP-PORT that carries a message in its options is another one only if its data are one, too") {
  for (const Buffer& data : {Buffer(kNs.build()), Buffer{'h', 'e', 'l', 'l', 'o'}}) {
    Bench bench;
    const Packet* packet = bench.take(with_message(standalone_of(data), kNs.build()));
    REQUIRE(packet != nullptr);
    CHECK(packet->sighting.carriage == packet::Carriage::inline_udp);
    CHECK_FALSE(packet->again);
    packet = bench.decoder().another();
    CHECK((packet != nullptr) == (data.size() > 5));
    if (packet == nullptr) continue;
    CHECK(packet->again);
    CHECK(packet->sighting.carriage == packet::Carriage::standalone);
    CHECK(bench.decoder().another() == nullptr);
  }
}

TEST_CASE("agrees with libasrp's locate() on any packet, with and without a message") {
  RandomPackets packets(11);
  for (int i = 0; i < 20'000; ++i) {
    Buffer ip = packets.next();
    auto view = packet::PacketView::parse(ip);
    REQUIRE(view.has_value());
    Buffer marked;
    if (packets.chance(2) && packet::insert_inline(*view, {}, kNs.build(), 65535, marked)) ip = marked;
    if (packets.chance(3)) ip[20 + packets.below(ip.size() - 20)] ^= static_cast<std::uint8_t>(1 + packets.below(255));
    view = packet::PacketView::parse(ip);
    if (!view || view->tuple().src.port == kDefaultPort || view->tuple().dst.port == kDefaultPort) continue;
    Bench bench;
    const Packet* const packet = bench.take(ip);
    REQUIRE(packet != nullptr);
    const packet::Located located = packet::locate(*view, {});
    const Sighting& sighting = packet->sighting;
    CAPTURE(to_hex(ip));
    if (located.found()) {
      const Octets room = located.room(*view);
      const bool is_message = view->is_tcp() ? wire::decode_prefix(room).has_value() : wire::decode(room).has_value();
      REQUIRE(sighting.claim == (is_message ? Claim::message : Claim::invalid));
      REQUIRE(sighting.offset == located.message_offset);
    } else {
      REQUIRE(sighting.claim != Claim::message);
      if (located.status == packet::LocateStatus::bad_ocs) REQUIRE(sighting.reason == Reason::ocs);
      // locate() calls an area that neither parses nor verifies no area at all; here our option in it is enough.
      if (sighting.reason == Reason::option && view->is_tcp()) REQUIRE(located.status == packet::LocateStatus::bad_option);
    }
  }
}

TEST_CASE("the quick look for messages misses none") {
  RandomPackets packets(12);
  DecoderOptions only_messages;
  only_messages.every_packet = false;
  Bench quick(only_messages);
  Bench thorough;
  for (int i = 0; i < 5'000; ++i) {
    Buffer ip = packets.next();
    Buffer marked;
    const auto view = packet::PacketView::parse(ip);
    if (packets.chance(2) && packet::insert_inline(*view, {}, kNs.build(), 65535, marked)) ip = marked;
    const Octets part = Octets(ip).first(packets.chance(4) ? packets.below(ip.size()) : ip.size());
    const Packet* const all = thorough.take(part, ip.size());
    const Packet* const some = quick.take(part, ip.size());
    CAPTURE(to_hex(part));
    REQUIRE((some != nullptr) == (all != nullptr && all->sighting.present()));
  }
}

TEST_CASE("fragments in any order are one datagram") {
  const Buffer ip = standalone_of(ns(kPair).node("10.9.0.1").session_data(pattern(64)).build());
  std::vector<Buffer> pieces = fragments(ip, 24);
  REQUIRE(pieces.size() == 5);
  std::vector<std::size_t> order{0, 1, 2, 3, 4};
  do {
    Bench bench;
    for (std::size_t i = 0; i + 1 < order.size(); ++i) REQUIRE(bench.take(pieces[order[i]]) == nullptr);
    const Packet* const packet = bench.take(pieces[order.back()]);
    REQUIRE(packet != nullptr);
    CHECK(packet->reassembled);
    CHECK(packet->number == 5);
    CHECK(packet->sighting.claim == Claim::message);
    CHECK(packet->ip.size() == ip.size());
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a fragment seen twice is no overlap; one with other octets is") {
  const Buffer ip = standalone_of(kNs.build());
  const Buffer first = fragment(ip, 0, 24);
  const Buffer last = fragment(ip, 24, 1000);
  Bench bench;
  CHECK(bench.take(first) == nullptr);
  CHECK(bench.take(first) == nullptr);
  CHECK(bench.take(last) != nullptr);

  Buffer other = first;
  other.back() ^= 1;
  CHECK(bench.take(first) == nullptr);
  CHECK(bench.take(other) == nullptr);
  CHECK(bench.take(last) == nullptr);  // RFC 5722: the datagram is gone, with the fragments that come
  CHECK(bench.take(first) == nullptr);
  CHECK(bench.decoder().reassembly().overlaps == 1);
  CHECK(bench.decoder().reassembly().whole == 1);
}

TEST_CASE("fragments that overlap in part, or reach beyond the end") {
  const Buffer ip = standalone_of(kNs.build());
  Bench partly;
  CHECK(partly.take(fragment(ip, 0, 24)) == nullptr);
  CHECK(partly.take(fragment(ip, 16, 1000)) == nullptr);
  CHECK(partly.decoder().reassembly().overlaps == 1);
  Bench beyond;
  CHECK(beyond.take(fragment(ip, 24, 1000)) == nullptr);
  Buffer late = fragment(ip, 0, 24);
  store_u16(late, 6, 0x2000 | 100);
  CHECK(beyond.take(late) == nullptr);
  CHECK(beyond.decoder().reassembly().overlaps == 1);
}

TEST_CASE("what stays incomplete is forgotten in time") {
  const Buffer ip = standalone_of(kNs.build());
  Bench bench;
  bench.at(1000).take(fragment(ip, 0, 24));
  CHECK(bench.at(1031).take(fragment(ip, 24, 1000)) == nullptr);
  CHECK(bench.decoder().reassembly().expired == 1);
  bench.decoder().finish();
  CHECK(bench.decoder().reassembly().expired == 2);
}

TEST_CASE("more datagrams, octets or pieces than allowed: the oldest give way") {
  DecoderOptions options;
  options.reassembly.datagrams = 4;
  Bench few(options);
  for (std::uint16_t id = 0; id < 10; ++id) {
    Buffer first = fragment(standalone_of(kNs.build()), 0, 24);
    store_u16(first, 4, id);
    few.take(first);
  }
  CHECK(few.decoder().reassembly().displaced == 6);

  options = {};
  options.reassembly.octets = 10'000;
  Bench small(options);
  for (std::uint16_t id = 0; id < 10; ++id) {
    Buffer first = fragment(standalone_of(pattern(4000)), 0, 3200);
    store_u16(first, 4, id);
    small.take(first);
  }
  CHECK(small.decoder().reassembly().displaced >= 7);

  options = {};
  options.reassembly.pieces = 3;
  Bench pieces(options);
  const std::vector<Buffer> all = fragments(standalone_of(pattern(400)), 8);
  for (std::size_t i = 0; i < 8; i += 2) pieces.take(all[i]);
  CHECK(pieces.decoder().reassembly().bad == 1);
}

TEST_CASE("one datagram whose frames alone are more than allowed is given up") {
  DecoderOptions options;
  options.reassembly.keep_frames = true;
  options.reassembly.octets = 20'000;
  Bench bench(options);
  for (Buffer piece : fragments(standalone_of(pattern(400)), 8)) {
    piece.resize(3000, 0xff);  // padding of the link
    CHECK(bench.take(piece) == nullptr);
  }
  CHECK(bench.decoder().reassembly().displaced == 1);
}

TEST_CASE("a datagram longer than IP allows is none") {
  Buffer huge = fragment(standalone_of(pattern(100)), 0, 80);
  store_u16(huge, 6, 8190);
  Bench bench;
  CHECK(bench.take(huge) == nullptr);
  CHECK(bench.decoder().reassembly().bad == 1);
}

TEST_CASE("the frames of the other fragments are kept on demand") {
  DecoderOptions options;
  options.reassembly.keep_frames = true;
  const Buffer ip = standalone_of(kNs.build());
  Bench bench(options);
  {
    const Buffer last = fragment(ip, 24, 1000);
    bench.take(last);
  }
  const Buffer first = fragment(ip, 0, 24);
  const Packet* const packet = bench.take(first);
  REQUIRE(packet != nullptr);
  REQUIRE(packet->earlier.size() == 1);
  CHECK(packet->earlier[0].number == 1);
  CHECK(Buffer(packet->earlier[0].octets.begin(), packet->earlier[0].octets.end()) == fragment(ip, 24, 1000));
}

TEST_CASE("IPv6 fragments, with headers in front of and behind the fragment header") {
  const Buffer payload = qs(tcp_tuple("[2001:db8::7]:40000", "[2001:db8::1]:80")).build();
  const auto piece = [&](const char* field, Octets part) {
    std::string header = "0000" + std::string(field) + "00001234";
    Buffer ip =
        udp("[2001:db8::1]:1", "[2001:db8::2]:51200").extension(0, "00010400000000").extension(44, "00000000000000").build();
    const Buffer fragment_header = hex("11" + header.substr(2));
    std::copy(fragment_header.begin(), fragment_header.end(), ip.begin() + 48);
    ip.resize(56);
    ip.insert(ip.end(), part.begin(), part.end());
    store_u16(ip, 4, static_cast<std::uint16_t>(ip.size() - 40));
    return ip;
  };
  const Buffer plain = udp("[2001:db8::1]:1", "[2001:db8::2]:51200").payload(payload).build();
  const Octets datagram = Octets(plain).subspan(40);
  Bench bench;
  CHECK(bench.take(piece("0019", datagram.subspan(24, 0))) == nullptr);  // empty: fits nothing
  CHECK(bench.take(piece("0018", datagram.subspan(24))) == nullptr);
  const Packet* const packet = bench.take(piece("0001", datagram.first(24)));
  REQUIRE(packet != nullptr);
  CHECK(packet->ip.size() == plain.size() + 8);  // the hop-by-hop header stays
  CHECK(packet->sighting.claim == Claim::message);
}

TEST_CASE("a header without a length: the frame has it") {
  for (const char* const ends : {"203.0.113.7:40000 198.51.100.1:80", "[2001:db8::7]:40000 [2001:db8::1]:80"}) {
    const std::string both = ends;
    const auto space = both.find(' ');
    for (const std::size_t size : {100u, 20'000u, 60'000u, 200'000u}) {
      CAPTURE(both);
      CAPTURE(size);
      Buffer ip = with_message(tcp(both.substr(0, space), both.substr(space + 1)).push().data(100).build(), kNs.build());
      const bool is_v4 = ip[0] >> 4 == 4;
      store_u16(ip, is_v4 ? 2 : 4, 0);
      ip.resize(ip.size() - 100 + size, 0x5a);
      const std::size_t longest = 65535 + (is_v4 ? 0 : 40);
      Bench bench;
      const Packet* packet = bench.take(ip);
      REQUIRE(packet != nullptr);
      CHECK(packet->sighting.claim == Claim::message);
      CHECK(packet->sighting.carriage == packet::Carriage::inline_tcp);
      CHECK(packet->ip.size() == std::min(ip.size(), longest));
      CHECK_FALSE(packet->cut());
      CHECK(load_u16(packet->as_captured, is_v4 ? 2 : 4) == 0);  // -x shows what was there

      packet = bench.take(Octets(ip).first(70), ip.size());
      REQUIRE(packet != nullptr);
      CHECK(packet->cut());
      CHECK(packet->ip.size() == std::min(ip.size(), longest));
      CHECK(packet->as_captured.size() == 70);
      CHECK(bench.decoder().counts().damaged == 0);
    }
  }
}

TEST_CASE("a fragment without a length, and no next header, have none from the frame") {
  Buffer piece = fragment(tcp_ns(), 0, 24);
  store_u16(piece, 2, 0);
  Bench bench;
  CHECK(bench.take(piece) == nullptr);
  CHECK(bench.decoder().counts().damaged == 1);
  Buffer piece6 = udp("[2001:db8::1]:1", "[2001:db8::2]:2").extension(44, "00000100000000").payload("question").build();
  store_u16(piece6, 4, 0);
  CHECK(bench.take(piece6) == nullptr);
  CHECK(bench.decoder().counts().damaged == 2);
  Buffer nothing = qs6();
  nothing[6] = 59;
  store_u16(nothing, 4, 0);
  const Packet* const packet = bench.take(nothing);
  REQUIRE(packet != nullptr);
  CHECK(packet->ip.size() == 40);
  CHECK_FALSE(packet->sighting.present());
}

TEST_CASE("tunnels are entered as deep as was asked for") {
  const auto in_ipip = [](const Buffer& inner) {
    Buffer outer = udp("10.1.0.1:1", "10.1.0.2:2").build();
    outer.resize(20);
    outer[9] = 4;
    outer.insert(outer.end(), inner.begin(), inner.end());
    store_u16(outer, 2, static_cast<std::uint16_t>(outer.size()));
    return outer;
  };
  const Buffer once = in_ipip(tcp_ns());
  const Buffer twice = in_ipip(once);
  for (unsigned levels = 0; levels <= 2; ++levels) {
    DecoderOptions options;
    options.tunnels = levels;
    const auto finds = [&](const Buffer& ip) {
      Bench bench(options);
      const Packet* const packet = bench.take(ip);
      return packet != nullptr && packet->sighting.claim == Claim::message;
    };
    CHECK(finds(tcp_ns()));
    CHECK(finds(once) == (levels >= 1));
    CHECK(finds(twice) == (levels >= 2));
  }
}

TEST_CASE("VXLAN, GRE with its options, Geneve with its options") {
  const std::string ethernet = "0200000000010200000000020800";
  const auto inside = [](const std::string& header) {
    Buffer octets = hex(header);
    const Buffer inner = tcp_ns();
    octets.insert(octets.end(), inner.begin(), inner.end());
    return octets;
  };
  const auto finds = [](const Buffer& ip) {
    Bench bench;
    const Packet* const packet = bench.take(ip);
    return packet != nullptr && packet->sighting.claim == Claim::message;
  };
  const auto in_udp = [&](const char* to, const std::string& header) {
    return finds(udp("10.1.0.1:9", to).payload(inside(header)).build());
  };
  const auto in_gre = [&](const std::string& header) {
    Buffer ip = udp("10.1.0.1:1", "10.1.0.2:2").payload(inside(header)).build();
    ip.erase(ip.begin() + 20, ip.begin() + 28);
    ip[9] = 47;
    store_u16(ip, 2, static_cast<std::uint16_t>(ip.size()));
    return finds(ip);
  };
  CHECK(in_udp("10.1.0.2:4789", "0800000000000100" + ethernet));
  CHECK(in_udp("10.1.0.2:8472", "0800000000000100" + ethernet));
  CHECK_FALSE(in_udp("10.1.0.2:4789", "0000000000000100" + ethernet));  // no VNI, no VXLAN
  CHECK(in_udp("10.1.0.2:6081", "0000655800000100" + ethernet));
  CHECK(in_udp("10.1.0.2:6081",
               "0200655800000100"
               "0102030400000000" +
                   ethernet));
  CHECK(in_udp("10.1.0.2:6081", "0000080000000100"));
  CHECK(in_gre("00000800"));
  CHECK(
      in_gre("b00008000000000000000001"
             "00000002"));
  CHECK(in_gre("2000655800000100" + ethernet));  // NVGRE
  CHECK(
      in_gre("100088be00000001"
             "1000000000000000" +
             ethernet));            // ERSPAN II
  CHECK_FALSE(in_gre("40000800"));  // source routing: nobody knows how long
}
