// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/node_counters.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>

using asrp::engine::NodeCounter;

TEST_CASE("every counter has a name of its own, and a line of help") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(NodeCounter::count_); ++i) {
    const auto info = asrp::engine::info(static_cast<NodeCounter>(i));
    CAPTURE(info.name);
    CHECK(names.insert(info.name).second);
    CHECK(info.name.find('.') != std::string_view::npos);
    CHECK_FALSE(info.help.empty());
  }
}
