// SPDX-License-Identifier: BSD-3-Clause
// What a file says comes back in messages: in one line, without control characters, and not all of a long text. Every key of
// the full fixtures gets hostile values, and every line a hostile key.
#include <doctest/doctest.h>

#include <functional>
#include <sstream>

#include "asrpd-holder/config.hpp"
#include "asrpd-node/config.hpp"

using namespace asrp;

namespace {

const std::string kFixtures = ASRP_SOURCE_DIR "/tests/config/";
constexpr std::size_t kShown = 60;

/// Escape sequences, both kinds of control characters, a line end, and more than anybody wants to read.
std::string hostile() { return "\\u001B[2J\\u009B2J\\u0085\\n" + std::string(2000, 'p') + "\\u007F"; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

bool is_plain(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto octet = static_cast<unsigned char>(text[i]);
    if (octet < 0x20 || octet == 0x7f) return false;
    if (octet == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return false;
  }
  return true;
}

struct Program {
  std::string printed;
  std::function<void(const std::string&, config::Problems&)> parse;
};

/// What makes the most of each program's keys, in either mode.
constexpr const char* kNodes[] = {"good.node-full.toml", "good.node-nat.toml"};
constexpr const char* kHolders[] = {"good.holder-full.toml", "good.holder-act.toml"};

Program node_program(const std::string& fixture) {
  config::Problems problems;
  const auto config = node::load_config(kFixtures + fixture, problems);
  REQUIRE(config);
  return {node::print_config(*config), [](const std::string& text, config::Problems& out) {
            static_cast<void>(node::parse_config(text, kFixtures + "x.toml", out));
          }};
}

Program holder_program(const std::string& fixture) {
  config::Problems problems;
  const auto config = holder::load_config(kFixtures + fixture, problems);
  REQUIRE(config);
  return {holder::print_config(*config), [](const std::string& text, config::Problems& out) {
            static_cast<void>(holder::parse_config(text, kFixtures + "x.toml", out));
          }};
}

void check(const Program& program, const std::string& text, const std::string& changed) {
  config::Problems problems;
  program.parse(text, problems);
  CHECK_MESSAGE(!problems.list.empty(), "nothing is said about: ", changed.substr(0, 40));
  for (const config::Problem& problem : problems.list) {
    const std::string said = problem.to_string();
    CHECK_MESSAGE(is_plain(said), "control characters in what is said about: ", changed.substr(0, 40));
    CHECK_MESSAGE(said.find(std::string(kShown + 1, 'p')) == std::string::npos,
                  "all of a long text in what is said about: ", changed.substr(0, 40), ": ", said.substr(0, 400));
  }
}

}  // namespace

TEST_CASE("no message repeats what is hostile in a value or a key, wherever it stands") {
  std::vector<Program> programs;
  for (const char* const fixture : kNodes) programs.push_back(node_program(fixture));
  for (const char* const fixture : kHolders) programs.push_back(holder_program(fixture));
  for (const Program& tested : programs) {
    const std::vector<std::string> lines = lines_of(tested.printed);
    std::size_t keys = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t equals = lines[i].find(" = ");
      if (equals == std::string::npos) continue;
      ++keys;
      const std::string key = lines[i].substr(0, equals);
      const std::string value = lines[i].substr(equals + 3);
      const std::string text = "\"" + hostile() + "\"";
      for (const std::string& changed :
           {key + " = " + text, key + " = [" + text + "]", key + " = [\"10.0.0.1\", \"::ffff:10.0.0.1" + hostile() + "\"]",
            key + " = \"10.0.0.1/" + hostile() + "\"", key + " = { " + text + " = " + text + " }",
            key + " = [{ id = " + text + ", name = " + text + ", " + text + " = 1 }]", text + " = " + value,
            lines[i] + "\n" + text + " = " + text, key + " = \"" + std::string(2000, 'p') + "\"", key + " = " + text + text,
            lines[i] + "\n[" + text + "]\n[" + text + "]"}) {
        std::vector<std::string> now = lines;
        now[i] = changed;
        check(tested, joined(now), changed);
      }
    }
    CHECK(keys > 20);
  }
}

TEST_CASE("a name that is hostile and refers to another place is shown as hostile there too") {
  const Program tested = node_program("good.node-full.toml");
  std::string text = tested.printed;
  for (std::size_t at; (at = text.find("\"web\"")) != std::string::npos;) text.replace(at, 5, "\"" + hostile() + "\"");
  for (std::size_t at; (at = text.find("\"s1\"")) != std::string::npos;) text.replace(at, 4, "\"" + hostile() + "\"");
  check(tested, text, "web and s1");
}
