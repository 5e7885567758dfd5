// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow_seen.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;

namespace {

constexpr std::int64_t kMs = 1'000'000;

struct Way {
  dump::Copies copies;
  dump::Seen seen;

  Way(std::uint16_t id, bool own) {
    seen.tuple = tcp_tuple("203.0.113.7:40000", "198.51.100.1:80");
    seen.ip_id = id;
    seen.own_id = own;
    seen.message = 5;
  }
  bool at(std::int64_t ms, std::uint8_t ttl, std::uint32_t link = 0) {
    seen.at = {seen.at.number + 1, 1'000'000 * kMs + ms * kMs};
    seen.ttl = ttl;
    seen.link = link;
    return copies.is_copy(seen);
  }
};

}  // namespace

TEST_CASE("no identification: the same octets with the same TTL are sent again, but for the skew of two clocks") {
  Way way(0, false);
  CHECK(!way.at(0, 62));
  CHECK(way.at(3, 62));
  CHECK(!way.at(20, 62));
  CHECK(!way.at(300, 62));
}

TEST_CASE("another TTL is another hop, whichever clock is ahead and however long the node held the packet") {
  Way way(0, false);
  CHECK(!way.at(0, 62));
  CHECK(way.at(-3, 63));
  CHECK(way.at(400, 61));
  CHECK(!way.at(450, 63));  // from here on the repetition
  CHECK(way.at(451, 62));
  CHECK(way.at(452, 61));
  CHECK(!way.at(3000, 60));  // nothing is on its way that long
}

TEST_CASE("a separate packet has the identification of another one: its repetition is no copy") {
  Way way(77, false);
  CHECK(!way.at(0, 63));
  CHECK(way.at(0, 62));
  CHECK(!way.at(300, 63));
  CHECK(way.at(300, 62));
}

TEST_CASE("an own identification speaks for a copy, but not for long") {
  Way way(77, true);
  CHECK(!way.at(0, 63));
  CHECK(way.at(100, 63));
  CHECK(!way.at(400, 63));
}

TEST_CASE("an earlier stamp is as far away as a later one") {
  Way way(0, false);
  CHECK(!way.at(0, 62));
  CHECK(way.at(-5, 62));
  CHECK(!way.at(-20, 62));
  CHECK(!way.at(-3000, 61));
}

TEST_CASE("a place where a packet is seen often takes no room from the others") {
  Way way(0, false);
  CHECK(!way.at(0, 62));
  for (int n = 0; n < 10; ++n) CHECK(way.at(1, 62));
  CHECK(way.at(400, 61));
  CHECK(!way.at(450, 61));
}

TEST_CASE("many packets at a time, all of which are sent again: none takes another one's place") {
  Way way(0, false);
  constexpr std::uint64_t kSets = 8192;  // four of each of these places are neighbours
  const auto copies = [&](std::int64_t ms, std::uint8_t ttl) {
    std::size_t count = 0;
    for (std::uint64_t n = 0; n < 100; ++n) {
      way.seen.message = n / 4 + n % 4 * kSets;
      count += way.at(ms, ttl);
    }
    return count;
  };
  CHECK(copies(0, 63) == 0);
  CHECK(copies(1, 62) == 100);
  CHECK(copies(300, 63) == 0);
  CHECK(copies(301, 62) == 100);
}

TEST_CASE("a capture of all interfaces: the same interface twice is a repetition, two of them are two places") {
  Way way(0, false);
  CHECK(!way.at(0, 63, 8));
  CHECK(way.at(1, 63, 9));
  CHECK(!way.at(5, 63, 8));
  CHECK(way.at(6, 63, 9));
  CHECK(!way.at(100, 63, 10));  // another way, a new try
}

TEST_CASE("interface and direction are those of a cooked capture's second version, and of no other") {
  const Buffer ip = tcp("203.0.113.7:40000", "198.51.100.1:80").push().payload("x").build();
  const auto link_of = [&](const char* frame, int type) {
    const Buffer octets = hex(frame);
    dump::Packet packet;
    packet.view = packet::PacketView::parse(ip).value();
    packet.frame = octets;
    packet.link_type = type;
    return dump::look_at(packet).link;
  };
  const std::uint32_t in = link_of("0800000000000002000100060200000000000000", 276);
  const std::uint32_t out = link_of("0800000000000002000104060200000000000000", 276);
  const std::uint32_t other = link_of("0800000000000003000100060200000000000000", 276);
  CHECK(in != 0);
  CHECK(out != 0);
  CHECK(in != out);
  CHECK(other != in);
  CHECK(other != out);
  CHECK(link_of("0800000000000002", 276) == 0);
  CHECK(link_of("0200000000010200000000020800", 1) == 0);
}

TEST_CASE("the identification of a separate packet isn't its own") {
  const Buffer ip = tcp("203.0.113.7:40000", "198.51.100.1:80").push().payload("x").identification(77).build();
  const auto has_own = [&](dump::Claim claim, packet::Carriage carriage) {
    dump::Packet packet;
    packet.view = packet::PacketView::parse(ip).value();
    packet.sighting.claim = claim;
    packet.sighting.carriage = carriage;
    return dump::look_at(packet).own_id;
  };
  CHECK(has_own(dump::Claim::none, packet::Carriage::standalone));
  CHECK(has_own(dump::Claim::message, packet::Carriage::inline_tcp));
  CHECK_FALSE(has_own(dump::Claim::message, packet::Carriage::separate_tcp));
  CHECK_FALSE(has_own(dump::Claim::message, packet::Carriage::separate_udp));
}
