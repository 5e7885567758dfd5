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

TEST_CASE("a capture of all interfaces: the same interface twice is a repetition, two of them are two places") {
  Way way(0, false);
  CHECK(!way.at(0, 63, 8));
  CHECK(way.at(1, 63, 9));
  CHECK(!way.at(5, 63, 8));
  CHECK(way.at(6, 63, 9));
  CHECK(!way.at(100, 63, 10));  // another way, a new try
}
