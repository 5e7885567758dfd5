// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/event.hpp"

#include <doctest/doctest.h>

#include <set>

using asrp::engine::EventKind;

TEST_CASE("every kind of event has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(EventKind::limit_reached); ++i) {
    const auto name = asrp::engine::to_string(static_cast<EventKind>(i));
    CHECK(name != "?");
    CHECK(names.insert(name).second);
  }
}
