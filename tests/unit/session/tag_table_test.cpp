// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/session/tag_table.hpp"

#include <doctest/doctest.h>

using namespace asrp;
using asrp::session::TagTable;
using std::chrono::seconds;

TEST_CASE("it remembers for a while, forgets when told, and lets the newer overwrite the older") {
  TagTable<int> table(4);
  const TimePoint now = TimePoint{} + seconds(100);
  table.put(0x100000001, now, 7);
  REQUIRE(table.find(0x100000001, now + seconds(1), seconds(1)) != nullptr);
  CHECK(*table.find(0x100000001, now, seconds(1)) == 7);
  CHECK(table.find(0x100000001, now + seconds(2), seconds(1)) == nullptr);
  CHECK(table.find(0x100000002, now, seconds(1)) == nullptr);
  table.put(0x500000003, now, 9);  // the same place
  CHECK(table.find(0x100000001, now, seconds(1)) == nullptr);
  table.erase(0x100000001);
  CHECK(table.find(0x500000003, now, seconds(1)) != nullptr);
  table.erase(0x500000003);
  CHECK(table.find(0x500000003, now, seconds(1)) == nullptr);
  CHECK(table.find(0, TimePoint{}, seconds(1)) == nullptr);
}
