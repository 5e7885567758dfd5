// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/packet/options.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/builders.hpp"
#include "support/random_packets.hpp"

using namespace asrp;
using namespace asrp::packet;
using namespace asrp::test;

namespace {

/// "kind@offset+size ..." and how the walk ended.
template <typename Walk>
std::string walked(Octets area, std::size_t known) {
  Walk walk(area, known);
  std::string text;
  for (std::size_t steps = 0; steps <= area.size(); ++steps) {
    switch (walk.next()) {
      case Step::end:
        return text + "end";
      case Step::malformed:
        return text + "malformed";
      case Step::cut:
        return text + "cut";
      case Step::option:
        text += std::to_string(walk.option().kind) + "@" + std::to_string(walk.option().offset) + "+" +
                std::to_string(walk.option().size) + " ";
    }
  }
  return text + "endless";
}

std::string tcp_walk(const char* text) { return walked<TcpOptionWalk>(hex(text), hex(text).size()); }
std::string udp_walk(const char* text) { return walked<UdpOptionWalk>(hex(text), hex(text).size()); }

/// How the walk ends if only the first `known` octets of the area are: octets behind are zero, as a cut packet is padded.
template <typename Walk>
std::string cut_walk(const char* text, std::size_t known) {
  Buffer area = hex(text);
  std::fill(area.begin() + static_cast<std::ptrdiff_t>(known), area.end(), std::uint8_t{0});
  return walked<Walk>(area, known);
}

}  // namespace

TEST_CASE("TCP options: lengths, NOPs, EOL") {
  CHECK(tcp_walk("") == "end");
  CHECK(tcp_walk("020405b40402080a0000000100000000010303 07") == "2@0+4 4@4+2 8@6+10 3@17+3 end");
  CHECK(tcp_walk("010101 00") == "end");
  CHECK(tcp_walk("020405b4 00fd0441") == "2@0+4 end");
  CHECK(tcp_walk("50 00 00 00") == "malformed");
  CHECK(tcp_walk("fd01 0000") == "malformed");
  CHECK(tcp_walk("fd05 0000") == "malformed");
  CHECK(tcp_walk("010101 fd") == "malformed");
  CHECK(tcp_walk("0402 fdff") == "4@0+2 malformed");
}

TEST_CASE("UDP options: short and extended lengths, NOPs, EOL") {
  CHECK(udp_walk("") == "end");
  CHECK(udp_walk("0404 05dc 080a0000000100000000") == "4@0+4 8@4+10 end");
  CHECK(udp_walk("08ff0006 abcd") == "8@0+6 end");
  CHECK(udp_walk("08ff0003 abcd") == "malformed");
  CHECK(udp_walk("08ff00") == "malformed");
  CHECK(udp_walk("08ff0007 abcd") == "malformed");
  CHECK(udp_walk("01010101010101 0402") == "4@7+2 end");
  CHECK(udp_walk("0101010101010101 0402") == "malformed");
  CHECK(udp_walk("01010101 0402 01010101") == "4@4+2 end");
  CHECK(udp_walk("0402 000000") == "4@0+2 end");
  CHECK(udp_walk("0402 000001") == "4@0+2 malformed");
  CHECK(udp_walk("7f04 4153") == "127@0+4 end");
  CHECK(udp_walk("7f03 41") == "malformed");
  CHECK(udp_walk("7fff0006 4153") == "127@0+6 end");
  CHECK(udp_walk("7fff0005 41") == "malformed");
}

TEST_CASE("options that the capture cuts off") {
  const auto tcp = [](std::size_t known) { return cut_walk<TcpOptionWalk>("020405b4 01 fd044153 01", known); };
  for (const std::size_t known : {0u, 1u, 3u}) CHECK(tcp(known) == "cut");
  for (const std::size_t known : {4u, 5u, 6u, 7u, 8u}) CHECK(tcp(known) == "2@0+4 cut");
  CHECK(tcp(9) == "2@0+4 253@5+4 cut");
  CHECK(tcp(10) == "2@0+4 253@5+4 end");
  CHECK(cut_walk<TcpOptionWalk>("0402 00 ffffff", 3) == "4@0+2 end");
  CHECK(cut_walk<TcpOptionWalk>("0402 fd01 ffff", 4) == "4@0+2 malformed");
  CHECK(cut_walk<TcpOptionWalk>("0402 fdff ffff", 4) == "4@0+2 malformed");  // the header's length is known
  // Of a UDP option the data may be cut off: what announces it is enough.
  const auto udp = [](std::size_t known) { return cut_walk<UdpOptionWalk>("0404 05dc 7fff000c 4153 01020304 0506", known); };
  for (const std::size_t known : {0u, 1u}) CHECK(udp(known) == "cut");
  for (const std::size_t known : {2u, 4u, 5u, 7u, 9u}) CHECK(udp(known) == "4@0+4 cut");
  for (const std::size_t known : {10u, 13u, 16u}) CHECK(udp(known) == "4@0+4 127@4+12 end");
  CHECK(cut_walk<UdpOptionWalk>("0402 0100 0001", 3) == "4@0+2 cut");
  CHECK(cut_walk<UdpOptionWalk>("0402 0000 0001", 3) == "4@0+2 end");
}

TEST_CASE("where a UDP option may be added: in front of EOL, else at the end") {
  const auto end_of = [](const char* text) {
    const Buffer area = hex(text);
    UdpOptionWalk walk(area);
    while (walk.next() == Step::option) {
    }
    return walk.end_offset();
  };
  CHECK(end_of("0402") == 2);
  CHECK(end_of("04020000") == 2);
  CHECK(end_of("0402 0101 00") == 4);
}

TEST_CASE("walks over arbitrary octets end, and stay inside") {
  RandomPackets random(31);
  for (int i = 0; i < 100000; ++i) {
    Buffer area = random.octets(random.below(41));
    for (std::uint8_t& octet : area) {
      if (random.chance(2)) octet = static_cast<std::uint8_t>(octet % 8);  // short lengths, NOPs, EOL
    }
    area.shrink_to_fit();
    CHECK(walked<TcpOptionWalk>(area, area.size()).find("endless") == std::string::npos);
    CHECK(walked<TcpOptionWalk>(area, area.size() / 2).find("endless") == std::string::npos);
    CHECK(walked<UdpOptionWalk>(area, area.size()).find("endless") == std::string::npos);
    CHECK(walked<UdpOptionWalk>(area, area.size() / 2).find("endless") == std::string::npos);
  }
}

TEST_CASE("our TCP option is told by kind, length and ExID") {
  const auto is_ours = [](const char* text, const Marker& marker) {
    const Buffer area = hex(text);
    TcpOptionWalk walk(area);
    REQUIRE(walk.next() == Step::option);
    return is_ours_tcp(walk.option(), area, marker);
  };
  const Marker experimental;
  const Marker assigned{77, 66, 0};
  CHECK(is_ours("fd044153", experimental));
  CHECK_FALSE(is_ours("fd044154", experimental));
  CHECK_FALSE(is_ours("fe044153", experimental));
  CHECK_FALSE(is_ours("fd0641530000", experimental));  // a 32-bit ExID of somebody else
  CHECK_FALSE(is_ours("fd02", experimental));
  CHECK(is_ours("4d02", assigned));
  CHECK_FALSE(is_ours("4d03ff", assigned));
}
