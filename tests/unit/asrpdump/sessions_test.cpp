// SPDX-License-Identifier: BSD-3-Clause
#include "report/sessions.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;

namespace {

struct Run {
  explicit Run(dump::SessionsOptions options = {})
      : report(
            options, [this](std::string_view text) { out += text; }, [this](std::string_view text) { notes += text; }) {}
  std::string out;
  std::string notes;
  dump::SessionsReport report;
  Tape tape{report};

  void recovery() {
    tape.add(inline_of(tcp(kPair.server_side).syn().build(), ns(kPair).node(kNode1).cookie(0xabc)));
    tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kPair.client_side).cookie(5)));
    tape.after_us(412).add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rs(kPair).cookie(5)));
    tape.end();
  }
};

}  // namespace

TEST_CASE("a row says how the session was made, asked for and restored") {
  Run run;
  run.recovery();
  CHECK(run.out.find("203.0.113.7:40000>198.51.100.1:80") != std::string::npos);
  CHECK(run.out.find("203.0.113.7:40000>10.0.0.1:80") != std::string::npos);
  CHECK(run.out.find("1: RS 0.412 ms") != std::string::npos);
  CHECK(run.out.find("RS at 10.9.0.2") != std::string::npos);
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 2);
  CHECK(run.notes.empty());
}

TEST_CASE("--json: one object per session") {
  Run run({.follow = {}, .json = true});
  run.recovery();
  CHECK(run.out ==
        R"({"protocol":"tcp","st1":{"src":"203.0.113.7","sport":40000,"dst":"198.51.100.1","dport":80},)"
        R"("st2":{"src":"203.0.113.7","sport":40000,"dst":"10.0.0.1","dport":80},"first_seen":1700000000.001000000,)"
        R"("created":1700000000.001000000,"last_seen":1700000000.002412000,"node":"10.9.0.2","cookie":"00000abc",)"
        R"("messages":{"NS":1,"NA":0,"QS":1,"RS":1,"RX":0,"HS":0,"PS":0,"NC":0},"packets":1,"held_ms_max":0.000,)"
        R"("queries":[{"time":1700000000.002000000,"node":"10.9.0.2","holder":"10.0.0.1","tries":1,)"
        R"("tuple":{"src":"203.0.113.7","sport":40000,"dst":"198.51.100.1","dport":80},"answer":"RS","latency_ms":0.412}],)"
        R"("restored":[{"by":"RS","time":1700000000.002412000,"node":"10.9.0.2"}],"ended":false})"
        "\n");
}

TEST_CASE("it is said that sessions had to be forgotten") {
  Run run({.follow = {.max_sessions = 1}, .json = false});
  const TuplePair other{tcp_tuple("203.0.113.8:1", "198.51.100.1:80"), tcp_tuple("203.0.113.8:1", "10.0.0.1:80")};
  run.tape.add(inline_of(tcp(other.server_side).syn().build(), ns(other).node(kNode1)));
  run.recovery();
  CHECK(run.notes.find("1 sessions had to be forgotten") != std::string::npos);
  CHECK(std::count(run.out.begin(), run.out.end(), '\n') == 3);
}
