// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/engine/explanation.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace asrp::engine;

TEST_CASE("each step of an explanation has a name and a sentence") {
  std::set<std::string_view> all;
  for (int i = 0; i <= static_cast<int>(Step::too_many); ++i) {
    CHECK(all.insert(to_string(static_cast<Step>(i))).second);
    CHECK(sentence(static_cast<Step>(i)).ends_with("."));
  }
  CHECK(to_string(Step::no_service) == "no-service");
  CHECK(to_string(Step::create) == "create");
  CHECK(to_string(Step::ask_former_owner) == "ask-former-owner");
  CHECK(to_string(Step::too_many) == "too-many");
}
