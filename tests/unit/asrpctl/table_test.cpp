// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <doctest/doctest.h>

using namespace asrp::ctl;
using nlohmann::json;
using Align = Table::Align;

TEST_CASE("asrpctl table: columns are as wide as what is in them, numbers stand to the right, lines end without blanks") {
  Table table({{"NAME", Align::left}, {"N", Align::right}, {"LAST", Align::left}});
  CHECK(table.empty());
  table.add({"a", "1", ""});
  table.add({"longer", "1234", "x"});
  CHECK(table.text(false) ==
        "NAME       N  LAST\n"
        "a          1\n"
        "longer  1234  x\n");
  CHECK(!table.empty());
}

TEST_CASE("asrpctl table: without titles there is no line for them; what is beyond ASCII counts as one character each") {
  Table table({{"", Align::left}, {"", Align::left}});
  table.add({"\xc3\xa4\xc3\xb6", "x"});
  table.add({"abc", "y"});
  CHECK(table.text(false) == "\xc3\xa4\xc3\xb6   x\nabc  y\n");
}

TEST_CASE("asrpctl table: colours take no width, and are only there when asked for") {
  Table table({{"", Align::left}, {"", Align::left}});
  table.add({{"no", Colour::bad}, "x"});
  table.add({"longer", "y"});
  CHECK(table.text(true) == "\033[31mno\033[0m      x\nlonger  y\n");
  CHECK(table.text(false) == "no      x\nlonger  y\n");
}

TEST_CASE("asrpctl table: values as people write them; control characters are shown") {
  CHECK(plain(json()) == "-");
  CHECK(plain(json(true)) == "yes");
  CHECK(plain(json(17)) == "17");
  CHECK(plain(json("text")) == "text");
  CHECK(plain(json::array()) == "-");
  CHECK(plain(json::array({1, "b"})) == "1, b");
  CHECK(plain(json("a\x1b[2J\n\x7f")) == "a\\x1b[2J\\x0a\\x7f");
  CHECK(printable("\xc3\xa4") == "\xc3\xa4");
  CHECK(member(json({{"a", 1}}), "a") == 1);
  CHECK(member(json({{"a", 1}}), "b").is_null());
  CHECK(member(json(3), "b").is_null());
}

TEST_CASE("asrpctl table: a load is a rounded percentage") {
  CHECK(load_text(json(), "unknown") == "unknown");
  CHECK(load_text(json(0u), "-") == "0 %");
  for (const unsigned percent : {10u, 20u, 30u, 29u, 100u})  // as a holder scales what it reads, 0.1, 0.2 ...
    CHECK(load_text(json(static_cast<std::uint32_t>(percent / 100.0 * 0xffffffff)), "-") == std::to_string(percent) + " %");
  CHECK(load_text(json(~std::uint64_t{0}), "-") == "100 %");
}

TEST_CASE("asrpctl table: numbers and durations in short") {
  CHECK(short_number(0) == "0");
  CHECK(short_number(0.25) == "0.2");
  CHECK(short_number(99.5) == "99.5");
  CHECK(short_number(9999) == "9999");
  CHECK(short_number(123.4) == "123");
  CHECK(short_number(10000) == "10.0 k");
  CHECK(short_number(9999999) == "10000.0 k");
  CHECK(short_number(26500000) == "26.5 M");
  CHECK(duration_text(0) == "00:00:00");
  CHECK(duration_text(3661.9) == "01:01:01");
  CHECK(duration_text(86400 + 59) == "1 d 00:00:59");
  CHECK(duration_text(-5) == "00:00:00");
}
