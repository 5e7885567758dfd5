// SPDX-License-Identifier: BSD-3-Clause
#include "engine/hello_table.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Hello;
using engine::HelloTable;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TimePoint kStart{std::chrono::hours(1)};
const Tuple kFlow = tcp_tuple("10.0.0.1:40000", "198.51.100.9:443");

std::vector<std::uint32_t> due(HelloTable& table, TimePoint now) {
  std::vector<std::uint32_t> routes;
  std::vector<Tuple> repeatable;
  table.take_due(now, routes, repeatable);
  return routes;
}

}  // namespace

TEST_CASE("an HS is unanswered after a second, once") {
  HelloTable table(1);
  Hello* hello = table.add(kFlow, Cookie{7}, 1);
  REQUIRE(hello != nullptr);
  table.sent(*hello, 3, kStart);
  CHECK(table.next_due() == kStart + seconds(1));
  CHECK(due(table, kStart + milliseconds(999)).empty());
  CHECK(due(table, kStart + seconds(1)) == std::vector<std::uint32_t>{3});
  CHECK(due(table, kStart + seconds(2)).empty());
  REQUIRE(table.find(kFlow) != nullptr);
  CHECK(table.find(kFlow)->tries == 1);
  CHECK(table.find(kFlow.reversed()) == nullptr);
}

TEST_CASE("an HS can be sent again if there is a packet for it, until it is settled") {
  HelloTable table(1);
  std::vector<std::uint32_t> routes;
  std::vector<Tuple> repeatable;
  table.sent(*table.add(kFlow, Cookie{7}, 1), 3, kStart);
  table.take_due(kStart + seconds(1), routes, repeatable);
  CHECK(repeatable.empty());
  table.find(kFlow)->again = octets_of("packet");
  table.sent(*table.find(kFlow), 3, kStart + seconds(2));
  table.take_due(kStart + seconds(3), routes, repeatable);
  CHECK(repeatable == std::vector<Tuple>{kFlow});
  table.settled(*table.find(kFlow), kStart + seconds(4));
  CHECK(table.find(kFlow)->again.empty());
}

TEST_CASE("tries are remembered for a minute after the last") {
  HelloTable table(1);
  table.sent(*table.add(kFlow, Cookie{7}, 1), 3, kStart);
  due(table, kStart + seconds(1));
  table.sent(*table.find(kFlow), 3, kStart + seconds(30));
  due(table, kStart + seconds(89));
  REQUIRE(table.find(kFlow) != nullptr);
  CHECK(table.find(kFlow)->tries == 2);
  due(table, kStart + seconds(90));
  CHECK(table.find(kFlow) == nullptr);
  CHECK(table.size() == 0);
}

TEST_CASE("a settled one stays for two seconds, and is not called unanswered") {
  HelloTable table(1);
  table.sent(*table.add(kFlow, Cookie{7}, 1), 3, kStart);
  table.find(kFlow)->is_waiting = false;
  table.settled(*table.find(kFlow), kStart + milliseconds(10));
  CHECK(due(table, kStart + seconds(1)).empty());
  CHECK(table.find(kFlow) != nullptr);
  due(table, kStart + milliseconds(2010));
  CHECK(table.find(kFlow) == nullptr);
}

TEST_CASE("timers of a former one with the same place have no effect; the table is bounded") {
  HelloTable table(1);
  table.sent(*table.add(kFlow, Cookie{7}, 1), 3, kStart);
  table.remove(kFlow);
  table.sent(*table.add(kFlow, Cookie{8}, 2), 4, kStart + milliseconds(500));
  CHECK(due(table, kStart + seconds(1)).empty());
  CHECK(due(table, kStart + milliseconds(1500)) == std::vector<std::uint32_t>{4});
  for (std::uint32_t n = 1; n < HelloTable::kMost; ++n) {
    Tuple flow = kFlow;
    flow.src.port = static_cast<std::uint16_t>(n);
    flow.dst.port = n < 40000 ? 80 : 81;
    if (flow == kFlow) flow.dst.port = 82;
    REQUIRE(table.add(flow, Cookie{n}, 0) != nullptr);
  }
  CHECK(table.add(kFlow.reversed(), Cookie{}, 0) == nullptr);
  table.remove(kFlow);
  CHECK(table.add(kFlow.reversed(), Cookie{}, 0) != nullptr);
}
