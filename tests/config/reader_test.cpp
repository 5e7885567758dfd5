// SPDX-License-Identifier: BSD-3-Clause
#include "config/reader.hpp"

#include <doctest/doctest.h>

#include "config/writer.hpp"

using namespace asrp;
using namespace asrp::config;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("durations: a number with its unit") {
  CHECK(parse_duration("20ms") == milliseconds(20));
  CHECK(parse_duration("2min") == seconds(120));
  CHECK(parse_duration("1h") == seconds(3600));
  CHECK(parse_duration("0s") == seconds(0));
  for (const char* bad : {"", "20", "ms", "-1s", "1.5s", "1 s", "1sec", "1e3s", "9223372036854775807h", " 1s", "1s "})
    CHECK_MESSAGE(!parse_duration(bad), bad);
  for (const Duration d : {Duration(1), Duration(1500), Duration(milliseconds(1500)), Duration(seconds(7440)), Duration(0)})
    CHECK(parse_duration(format_duration(d)) == d);
  CHECK(format_duration(milliseconds(1500)) == "1500ms");
  CHECK(format_duration(seconds(7440)) == "7440s");
}

TEST_CASE("the nearest known name is guessed, but not a far one") {
  const std::vector<std::string> known = {"local_ips", "port", "state_dir"};
  CHECK(nearest("local_ip", known) == "local_ips");
  CHECK(nearest("prot", known) == "port");
  CHECK(nearest("statedir", known) == "state_dir");
  CHECK(!nearest("weight", known));
}

TEST_CASE("wrong types are told in words, and the default stays") {
  Problems problems;
  const auto root =
      parse_toml("a = 1\nb = \"x\"\nc = [1]\nd = 1.5\ne = 2026-01-01\nf = {x = 1}\ng = true\n", "f.toml", problems);
  REQUIRE(root);
  Reader reader(*root, "", "f.toml", problems);
  std::string text = "default";
  for (const char* key : {"a", "c", "d", "e", "f", "g"}) reader.text(key, text);
  int number = 7;
  reader.integer("b", number, 0, 9);
  bool flag = true;
  reader.boolean("a", flag);
  CHECK(text == "default");
  CHECK(number == 7);
  CHECK(flag);
  REQUIRE(problems.list.size() == 8);
  CHECK(problems.list[0].to_string() == "f.toml:1:a: found 1, allowed is a string");
  CHECK(problems.list[1].to_string() == "f.toml:3:c: found a list, allowed is a string");
  CHECK(problems.list[2].to_string() == "f.toml:4:d: found a number with a fraction, allowed is a string");
  CHECK(problems.list[3].to_string() == "f.toml:5:e: found a date or time, allowed is a string");
  CHECK(problems.list[4].to_string() == "f.toml:6:f: found a table, allowed is a string");
  CHECK(problems.list[5].to_string() == "f.toml:7:g: found true, allowed is a string");
  CHECK(problems.list[6].to_string() == "f.toml:2:b: found \"x\", allowed is a whole number from 0 to 9");
}

TEST_CASE("text of any octets survives writing and reading") {
  std::string every;
  for (int c = 1; c < 128; ++c) every += static_cast<char>(c);
  Writer writer;
  writer.table("t");
  writer.text("k", every);
  Problems problems;
  const auto root = parse_toml(writer.str(), "w", problems);
  REQUIRE(root);
  REQUIRE(root->find("t") != nullptr);
  CHECK(root->find("t")->find("k")->text == every);
}

TEST_CASE("deep nesting and garbage are problems, never a crash") {
  for (const std::string& text : {std::string(100000, '['), "a = " + std::string(100000, '['), std::string("\xff\xfe\x00", 3),
                                  std::string("a = \"\\uD800\""), std::string("[[a]]\n[a]\n")}) {
    Problems problems;
    CHECK(!parse_toml(text, "g", problems));
    CHECK(problems.list.size() == 1);
  }
}
