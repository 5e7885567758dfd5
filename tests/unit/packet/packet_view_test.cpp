// SPDX-License-Identifier: BSD-3-Clause
// Single packets with each error are in tests/vectors/packets.toml; here are accessors, cuts, and what ICMP quotes.
#include "asrp/packet/packet_view.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

PacketView view_of(Octets packet) {
  const auto view = PacketView::parse(packet);
  REQUIRE(view);
  return *view;
}

}  // namespace

TEST_CASE("a segment and its parts") {
  const Buffer packet = tcp("192.0.2.1:1000", "198.51.100.1:80")
                            .syn()
                            .seq(0x01020304)
                            .ack(0xfffefdfc)
                            .ttl(17)
                            .options("020405b4")
                            .payload("hello")
                            .build();
  const PacketView view = view_of(packet);
  CHECK(view.is_tcp());
  CHECK(view.is_v4());
  CHECK(view.tuple() == tcp_tuple("192.0.2.1:1000", "198.51.100.1:80"));
  CHECK(view.ttl() == 17);
  CHECK(view.dont_fragment());
  CHECK(view.transport_offset() == 20);
  CHECK(view.protocol_offset() == 9);
  CHECK(view.payload_offset() == 44);
  CHECK(to_hex(view.payload()) == "68656c6c6f");
  CHECK(view.surplus().empty());
  CHECK(view.tcp_flags() == kTcpSyn);
  CHECK(view.tcp_sequence() == 0x01020304);
  CHECK(view.tcp_acknowledgment() == 0xfffefdfc);
  CHECK(to_hex(view.tcp_options()) == "020405b4");
}

TEST_CASE("only a lone SYN begins a connection") {
  for (int flags = 0; flags < 256; ++flags) {
    const Buffer packet = tcp("192.0.2.1:1000", "198.51.100.1:80").flags(static_cast<std::uint8_t>(flags)).build();
    CHECK(view_of(packet).is_tcp_syn() == ((flags & 0x17) == 0x02));
  }
  CHECK_FALSE(view_of(udp("192.0.2.1:1", "192.0.2.2:2").data(20).build()).is_tcp_syn());
}

TEST_CASE("a datagram ends where UDP Length says; the rest is the surplus area") {
  const Buffer packet = udp("[2001:db8::1]:1000", "[2001:db8::2]:53").payload("ping!").surplus("00aabbcc").build();
  const PacketView view = view_of(packet);
  CHECK(view.is_udp());
  CHECK_FALSE(view.is_v4());
  CHECK(view.dont_fragment());
  CHECK(to_hex(view.payload()) == "70696e6721");
  CHECK(to_hex(view.surplus()) == "00aabbcc");
}

TEST_CASE("IPv4 headers of every length") {
  for (std::size_t words = 0; words <= 10; ++words) {
    TcpBuilder builder = tcp("192.0.2.1:1000", "198.51.100.1:80").data(3);
    for (std::size_t i = 0; i < words; ++i) builder.more_ip_options("94040000");
    const Buffer packet = builder.build();
    CHECK(view_of(packet).transport_offset() == 20 + 4 * words);
    CHECK(view_of(packet).tuple().dst.port == 80);
    CHECK(slow_verify(packet));
  }
}

TEST_CASE("octets behind the IP total length are padding, whatever they are") {
  RandomPackets random(23);
  for (int i = 0; i < 500; ++i) {
    const Buffer packet = random.next();
    Buffer padded = packet;
    const Buffer padding = random.octets(1 + random.below(60));
    padded.insert(padded.end(), padding.begin(), padding.end());
    const PacketView view = view_of(padded);
    CHECK(view.octets().size() == packet.size());
    CHECK(view.payload_size() == view_of(packet).payload_size());
    CHECK(view.surplus().size() == view_of(packet).surplus().size());
  }
}

TEST_CASE("every cut of a packet is `truncated`, and nothing else") {
  RandomPackets random(29);
  for (int i = 0; i < 200; ++i) {
    const Buffer packet = random.next();
    for (std::size_t n = 0; n < packet.size(); ++n) {
      const Buffer cut(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(n));
      const auto view = PacketView::parse(cut);
      REQUIRE_FALSE(view);
      CHECK(view.error() == PacketError::truncated);
    }
  }
}

TEST_CASE("IPv6 extension headers: where the transport protocol's number and header are") {
  const auto builder = [] { return tcp("[2001:db8::1]:1000", "[2001:db8::2]:80").data(3); };
  CHECK(view_of(builder().build()).protocol_offset() == 6);
  const Buffer one = builder().extension(60, "00010400000000").build();
  CHECK(view_of(one).protocol_offset() == 40);
  CHECK(view_of(one).transport_offset() == 48);
  const Buffer two = builder()
                         .extension(0, "00010400000000")
                         .extension(43,
                                    "01040000000000"
                                    "0000000000000000")
                         .build();
  CHECK(view_of(two).protocol_offset() == 48);
  CHECK(view_of(two).transport_offset() == 64);
  CHECK_FALSE(view_of(two).is_authenticated());
  // The Payload Len of AH counts words of four octets, less two.
  const Buffer ah = builder()
                        .extension(51,
                                   "040000"
                                   "0000000100000002"
                                   "000000000000000000000000")
                        .build();
  CHECK(view_of(ah).transport_offset() == 64);
  CHECK(view_of(ah).is_authenticated());
  CHECK(view_of(ah).tuple() == tcp_tuple("[2001:db8::1]:1000", "[2001:db8::2]:80"));
}

TEST_CASE("every error has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i < 8; ++i) names.insert(to_string(static_cast<PacketError>(i)));
  CHECK(names.size() == 8);
  CHECK(to_string(PacketError::udp_length) == "udp_length");
  CHECK(to_string(static_cast<PacketError>(8)) == "?");
}

// --- ICMP -----------------------------------------------------------------------------------------------------------

namespace {

std::optional<Tuple> quoted(const IcmpErrorBuilder& builder) { return quoted_tuple(view_of(builder.build())); }

const Buffer& sent_v4() {
  static const Buffer packet = tcp("192.0.2.10:4000", "198.51.100.5:80").data(900).build();
  return packet;
}

const Buffer& sent_v6() {
  static const Buffer packet = udp("[2001:db8::1]:4000", "[2001:db8::2]:53").data(900).build();
  return packet;
}

IcmpErrorBuilder error_v4() { return icmp_error("192.0.2.99", "192.0.2.10").too_big(1400); }
IcmpErrorBuilder error_v6() { return icmp_error("2001:db8::99", "2001:db8::1").too_big(1400); }

}  // namespace

TEST_CASE("an ICMP error names the tuple of the packet that it quotes, as it was sent") {
  CHECK(quoted(error_v4().quoting(sent_v4())) == tcp_tuple("192.0.2.10:4000", "198.51.100.5:80"));
  CHECK(quoted(error_v6().quoting(sent_v6())) == udp_tuple("[2001:db8::1]:4000", "[2001:db8::2]:53"));
}

TEST_CASE("eight octets of the quoted transport header are enough, seven are not") {
  CHECK(quoted(error_v4().quoting(sent_v4(), 28)));
  CHECK_FALSE(quoted(error_v4().quoting(sent_v4(), 27)));
  CHECK(quoted(error_v6().quoting(sent_v6(), 48)));
  CHECK_FALSE(quoted(error_v6().quoting(sent_v6(), 47)));
  const Buffer options = tcp("192.0.2.10:4000", "198.51.100.5:80").ip_options("9404000094040000").data(9).build();
  CHECK(quoted(error_v4().quoting(options, 36)) == tcp_tuple("192.0.2.10:4000", "198.51.100.5:80"));
  CHECK_FALSE(quoted(error_v4().quoting(options, 35)));
  const Buffer chain = tcp("[2001:db8::1]:4000", "[2001:db8::2]:80").extension(0, "00010400000000").data(9).build();
  CHECK(quoted(error_v6().quoting(chain, 56)) == tcp_tuple("[2001:db8::1]:4000", "[2001:db8::2]:80"));
  CHECK_FALSE(quoted(error_v6().quoting(chain, 55)));
}

TEST_CASE("cuts of a quoted packet never yield a wrong tuple") {
  for (std::size_t n = 0; n < 100; ++n) {
    const auto v4 = quoted(error_v4().quoting(sent_v4(), n));
    const auto v6 = quoted(error_v6().quoting(sent_v6(), n));
    CHECK(v4.has_value() == (n >= 28));
    CHECK(v6.has_value() == (n >= 48));
  }
}

TEST_CASE("only error messages quote") {
  for (int type = 0; type < 256; ++type) {
    const auto number = static_cast<std::uint8_t>(type);
    const bool v4_error = type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
    CHECK(quoted(error_v4().type(number, 0).quoting(sent_v4())).has_value() == v4_error);
    CHECK(quoted(error_v6().type(number, 0).quoting(sent_v6())).has_value() == (type >= 1 && type <= 4));
  }
  CHECK_FALSE(quoted_tuple(view_of(sent_v4())));
}

TEST_CASE("what is quoted may be a first fragment, but no later one, no ICMP and no other family") {
  Buffer first = sent_v4();
  first[6] = 0x20;
  CHECK(quoted(error_v4().quoting(first)));
  Buffer later = sent_v4();
  later[7] = 0x01;
  CHECK_FALSE(quoted(error_v4().quoting(later)));
  const Buffer first_v6 = udp("[2001:db8::1]:4000", "[2001:db8::2]:53").extension(44, "00000112345678").data(8).build();
  CHECK(quoted(error_v6().quoting(first_v6)));
  const Buffer later_v6 = udp("[2001:db8::1]:4000", "[2001:db8::2]:53").extension(44, "00000812345678").data(8).build();
  CHECK_FALSE(quoted(error_v6().quoting(later_v6)));
  CHECK_FALSE(quoted(error_v4().quoting(error_v4().quoting(sent_v4()).build())));
  CHECK_FALSE(quoted(error_v4().quoting(sent_v6())));
  CHECK_FALSE(quoted(error_v6().quoting(sent_v4())));
}
