// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <doctest/doctest.h>

#include "options_table.hpp"

using namespace asrp::dump;

namespace {

Options right(const std::vector<std::string>& arguments) {
  const ParsedOptions parsed = parse_options(arguments);
  REQUIRE(parsed.problems == std::vector<std::string>{});
  return parsed.options;
}

std::vector<std::string> problems(const std::vector<std::string>& arguments) { return parse_options(arguments).problems; }

}  // namespace

TEST_CASE("options stand anywhere, letters may be joined, words are file and filter") {
  const Options a = right({"capture.pcap", "tcp", "-nvxx", "port", "80", "-ttt"});
  CHECK(a.read == "capture.pcap");
  CHECK(a.filter == "tcp port 80");
  CHECK(a.text.tree);
  CHECK(a.text.hex == HexStyle::frame);
  CHECK(a.text.time == TimeStyle::since_previous);

  const Options b = right({"-r", "-", "host", "192.0.2.1"});
  CHECK(b.read == "-");
  CHECK(b.filter == "host 192.0.2.1");

  const Options c = right({"-rname with space", "--", "-odd"});
  CHECK(c.read == "name with space");
  CHECK(c.filter == "-odd");

  const Options d = right({"--read=x", "-n", "udp", "-N", "--ladder", "--", "--", "-2"});
  CHECK(d.filter == "udp -- -2");
  CHECK(d.text.names);
  CHECK_FALSE(right({"x", "-Nn"}).text.names);
  CHECK(right({"-r", "-w", "-c", "3"}).read == "-w");
  CHECK(right({"[a,b]", "tcp[13]", "=", "[2]"}).filter == "tcp[13] = [2]");
}

TEST_CASE("each -t changes the time") {
  const TimeStyle styles[] = {TimeStyle::none, TimeStyle::seconds, TimeStyle::since_previous, TimeStyle::date_and_time,
                              TimeStyle::since_first};
  std::string letters = "-";
  for (const TimeStyle style : styles) {
    letters += "t";
    CHECK(right({"f", letters}).text.time == style);
  }
  CHECK(problems({"f", letters + "t"}).size() == 1);
}

TEST_CASE("writing, rotating") {
  const Options o = right({"-r", "f", "-w", "out-%H.pcap", "-G", "3600", "-C", "10", "-W", "5", "-U", "-c", "7"});
  REQUIRE(o.write.has_value());
  CHECK(o.write->seconds == 3600);
  CHECK(o.write->size == 10'000'000);
  CHECK(o.write->files == 5);
  CHECK(o.write->flush_each_packet);
  CHECK(o.count == 7);
  CHECK_FALSE(o.wants_text());
  CHECK(right({"f", "-w", "x", "--print"}).wants_text());
}

TEST_CASE("numbers have bounds, and the ExID is hexadecimal") {
  CHECK(right({"f", "--exid", "0x4153", "--tcp-kind", "77"}).marker.exid == 0x4153);
  CHECK(right({"f", "--exid", "beef"}).marker.exid == 0xbeef);
  for (const auto* wrong :
       {"--exid=10000", "--exid=xyz", "--port=0", "--port=65536", "--port=-1", "--port=80x", "--port=", "--tcp-kind=1",
        "--tcp-kind=256", "--udp-kind=3", "--udp-kind=192", "--tunnels=9", "-c0", "-s262145", "--color=blue", "-w"}) {
    CAPTURE(wrong);
    CHECK(problems({"f", wrong}).size() == 1);
  }
}

TEST_CASE("all problems are told at once") {
  CHECK(problems({"-r", "f", "-i", "eth0", "--port", "0", "--no-such", "-Q", "--json=yes", "-W", "3"}).size() == 7);
  CHECK(problems({"-r", "f", "--session=", "-5", "-nQ", "-c", "x", "-c"}).size() == 5);
}

TEST_CASE("what excludes each other") {
  CHECK(problems({}).size() == 1);
  CHECK(problems({"-r", "f", "-i", "any"}).size() == 1);
  CHECK(problems({"f", "-G", "5"}).size() == 1);
  CHECK(problems({"f", "-w", "x", "-W", "5"}).size() == 1);
  CHECK(problems({"f", "-w", "-", "--json"}).size() == 1);
  CHECK(problems({"f", "-w", "-", "-C", "1"}).size() == 1);
  CHECK(problems({"f", "--json", "--print"}).size() == 1);
  CHECK(problems({"f", "-w", "-"}).empty());
  CHECK(problems({"f", "--session", "192.0.2.1:80"}).size() == 1);
  CHECK(problems({"f", "--check", "--session", "192.0.2.1:80"}).size() == 1);
  CHECK(problems({"f", "--sessions", "--ladder-limit", "3"}).size() == 1);
  CHECK(problems({"f", "--sessions", "--session", "192.0.2.1:80"}).empty());
  CHECK(problems({"f", "--ladder", "--session", "192.0.2.1:80", "--ladder-limit", "3"}).empty());
  CHECK(problems({"f", "--ladder", "--json"}).size() == 1);
  CHECK(problems({"f", "--ladder", "--json", "--sessions"}).size() == 1);
  const Options both = right({"f", "--ladder", "x.svg", "--json"});
  CHECK(both.wants_json_of_messages());
  CHECK_FALSE(right({"f", "--ladder", "x.svg", "--json", "--stats"}).wants_json_of_messages());
}

TEST_CASE("a picture's name may follow --ladder") {
  CHECK(right({"--ladder", "out.svg", "f"}).ladder_file == "out.svg");
  CHECK(right({"--ladder=out.svg", "f"}).ladder_file == "out.svg");
  const Options terminal = right({"--ladder", "f"});
  CHECK(terminal.ladder);
  CHECK(terminal.ladder_file.empty());
  CHECK(terminal.read == "f");
  CHECK(right({"f", "--ladder", "tcp"}).filter == "tcp");
  CHECK(right({"f", "--ladder", "out.SVG"}).ladder_file == "out.SVG");
}

TEST_CASE("a picture of another kind is refused, wherever its name stands") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"f", "--ladder", "x.png"}, {"--ladder", "x.PDF", "f"}, {"-r", "f", "--ladder=x.png"}, {"f", "--ladder=x"}}) {
    const auto told = problems(arguments);
    REQUIRE(told.size() == 1);
    CHECK(told[0].starts_with("--ladder x"));
    CHECK(told[0].find(".svg") != std::string::npos);
  }
}

TEST_CASE("what can be given once only is not taken twice in silence") {
  CHECK(problems({"-r", "f", "-r", "g"}).size() == 1);
  CHECK(problems({"-i", "lo", "--interface", "any"}).size() == 1);
  CHECK(problems({"f", "-w", "x", "-w", "y"}).size() == 1);
}

TEST_CASE("help, version and the list of interfaces need nothing to read") {
  for (const auto* option : {"--help", "-h", "--version", "-D"}) CHECK(problems({option}).empty());
}

TEST_CASE("no option is there twice, and --help names each") {
  const std::string help = help_text();
  std::string letters;
  std::vector<std::string_view> names;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) {
      CHECK((row.letter != 0 || !row.name.empty()));
      if (row.letter != 0) {
        CHECK(letters.find(row.letter) == std::string::npos);
        letters.push_back(row.letter);
        CHECK(help.find(std::string("  -") + row.letter) != std::string::npos);
      }
      if (row.name.empty()) continue;
      CHECK(row.name.starts_with("--"));
      CHECK(std::find(names.begin(), names.end(), row.name) == names.end());
      names.push_back(row.name);
      CHECK(help.find(row.name) != std::string::npos);
    }
  }
}
