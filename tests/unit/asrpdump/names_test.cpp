// SPDX-License-Identifier: BSD-3-Clause
#include "report/names.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::dump;

TEST_CASE("what has no name is shown as a number, again and again") {
  Names names;
  for (int i = 0; i < 2; ++i) CHECK(names.port(64998, Protocol::tcp) == "64998");
}

TEST_CASE("no name holds what could control a terminal") {
  CHECK(harmless("a\x1b[31m b\x7f\xc3\xa4") == "a?[31m?b???");
  Names names;
  for (const auto* text : {"127.0.0.1", "::1"}) {
    const std::string& name = names.host(test::address(text));
    CHECK_FALSE(name.empty());
    for (const char c : name) CHECK((c > ' ' && c <= '~'));
  }
}
