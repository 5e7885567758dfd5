// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/control_command.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "runtime/line_thread.hpp"
#include "runtime/log.hpp"
#include "runtime/testing/control_twin.hpp"

using namespace asrp::runtime;
using nlohmann::json;
using Kind = ControlArgument::Kind;

namespace {

CommandTable one(ControlCommand command) {
  CommandTable table;
  table.add(std::move(command));
  return table;
}

ControlCommand echo() {
  return {"echo",
          {{"text", Kind::text, true}, {"number", Kind::number}, {"flag", Kind::flag}},
          [](const ControlRequest& request, const ControlAnswer& answer) {
            answer.give("\"text\":" + json_quoted(*request.text("text")) +
                        ",\"number\":" + std::to_string(request.number("number").value_or(7)) +
                        ",\"flag\":" + (request.flag("flag") ? "true" : "false"));
          }};
}

json ask(ControlTwin& twin, const std::string& line) {
  const std::string text = twin.ask(line);
  REQUIRE(text.back() == '\n');
  return json::parse(text);
}

/// Lines "0", "1", ...; as many a piece as it is told.
class Numbers final : public LineSource {
 public:
  Numbers(unsigned last, unsigned piece, bool* alive) : last_(last), piece_(piece), alive_(alive) { *alive_ = true; }
  ~Numbers() override { *alive_ = false; }
  More append(std::string& out) override {
    for (unsigned i = 0; i < piece_ && next_ < last_; ++i) out += std::to_string(next_++) + "\n";
    return next_ < last_ ? More::yes : More::no;
  }
  std::string end_members() override { return "\"count\":" + std::to_string(next_); }

 private:
  unsigned last_, piece_, next_ = 0;
  bool* alive_;
};

}  // namespace

TEST_CASE("control command: arguments come with their types; what is not given is none") {
  const CommandTable table = one(echo());
  ControlTwin twin(table);
  const json all = ask(twin, R"({"command":"echo","text":"x","number":18446744073709551615,"flag":true})");
  CHECK(all == json::parse(R"({"ok":true,"text":"x","number":18446744073709551615,"flag":true})"));
  CHECK(ask(twin, R"({"command":"echo","text":"x"})") == json::parse(R"({"ok":true,"text":"x","number":7,"flag":false})"));
}

TEST_CASE("control command: a request that is none, or not of this daemon, is refused with its kind") {
  const CommandTable table = one(echo());
  ControlTwin twin(table);
  for (const char* line : {"", "nonsense", "[]", "{}", "7", "{\"command\":7}", "{\"command\":\"echo\"", "{\"command\":null}",
                           "\xff\xfe", "{\"command\":\"ec\xc3ho\"}"}) {
    const json refused = ask(twin, line);
    CHECK(refused["ok"] == false);
    CHECK(refused["kind"] == "request");
  }
  const json unknown = ask(twin, R"({"command":"nothing"})");
  CHECK(unknown["kind"] == "command");
  CHECK(unknown["error"] == "no command \"nothing\" here");
  for (const auto& [line, error] : std::map<std::string, std::string>{
           {R"({"command":"echo"})", "\"echo\" needs the argument \"text\""},
           {R"({"command":"echo","text":1})", "argument \"text\" must be a string"},
           {R"({"command":"echo","text":"x","number":-1})", "argument \"number\" must be an integer from 0 up"},
           {R"({"command":"echo","text":"x","number":1.5})", "argument \"number\" must be an integer from 0 up"},
           {R"({"command":"echo","text":"x","flag":1})", "argument \"flag\" must be true or false"},
           {R"({"command":"echo","text":"x","more":1})", "\"echo\" has no argument \"more\" here"}}) {
    const json refused = ask(twin, line);
    CHECK(refused["error"] == error);
    CHECK(refused["kind"] == "argument");
  }
}

TEST_CASE("control command: deep nesting and long names do no harm, and are not repeated") {
  const CommandTable table = one(echo());
  ControlTwin twin(table);
  CHECK(ask(twin, std::string(200000, '['))["kind"] == "request");
  CHECK(ask(twin, R"({"command":"echo","text":)" + std::string(1000, '[') + std::string(1000, ']') + "}")["kind"] ==
        "argument");
  CHECK(twin.ask("{\"command\":\"" + std::string(3000, 'x') + "\"}").size() < 200);
  CHECK(ask(twin, R"({"command":"a\"\n\u0000b"})")["error"] == std::string("no command \"a\"\n\0b\" here", 23));
}

TEST_CASE("control command: whatever comes, one line of JSON is the answer") {
  const CommandTable table = one(echo());
  ControlTwin twin(table);
  std::mt19937 random(7);
  const auto below = [&random](std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random); };
  const std::string good = R"({"command":"echo","text":"x","number":17,"flag":true})";
  const std::string_view pieces[] = {"{",  "}",    "[",  "]",     "\"",   ",",    ":",   "\\u0000",
                                     "\\", "null", "-1", "1e999", "\xff", "\xc3", "true"};
  std::size_t answered = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string line = good;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(line.size() + 1);
      const std::size_t length = std::min(below(8), line.size() - at);
      if (below(2) == 0) {
        line.replace(at, length, pieces[below(std::size(pieces))]);
      } else {
        line.replace(at, length, std::string(length, static_cast<char>(below(256))));
      }
    }
    const json answer = ask(twin, line);
    REQUIRE(answer.is_object());
    REQUIRE(answer["ok"].is_boolean());
    if (answer["ok"] == true) ++answered;
    REQUIRE(answer.contains("error") != (answer["ok"] == true));
  }
  CHECK(answered > 0);  // some changes do no harm
}

TEST_CASE("control command: an answer can come later, comes once, and comes in any case") {
  std::optional<ControlAnswer> kept;
  CommandTable table;
  table.add({"keep", {}, [&](const ControlRequest&, const ControlAnswer& answer) { kept = answer; }});
  table.add({"twice", {}, [](const ControlRequest&, const ControlAnswer& answer) {
               answer.give("\"first\":1");
               answer.refuse("second");
             }});
  table.add({"silent", {}, [](const ControlRequest&, const ControlAnswer&) {}});
  ControlTwin twin(table);
  CHECK(twin.ask(R"({"command":"keep"})").empty());
  CHECK(kept->is_wanted());
  kept->give();
  CHECK(twin.read() == "{\"ok\":true}\n");
  CHECK(twin.ask(R"({"command":"twice"})") == "{\"ok\":true,\"first\":1}\n");
  CHECK(twin.ask(R"({"command":"silent"})") == "{\"ok\":false,\"error\":\"the daemon has no answer\"}\n");
  twin.send(R"({"command":"keep"})");
  twin.hang_up();
  CHECK(!kept->is_wanted());
  kept->give();  // to nobody
  CHECK(table.names() == std::vector<std::string>{"keep", "silent", "twice"});
}

TEST_CASE("control command: a long answer is made as it is read, and its source goes with the reader") {
  bool alive = false;
  const CommandTable table = one({"count", {}, [&](const ControlRequest&, const ControlAnswer& answer) {
                                    answer.stream("\"a\":1", std::make_unique<Numbers>(5, 2, &alive));
                                  }});
  ControlTwin twin(table);
  twin.send(R"({"command":"count"})");
  CHECK(twin.text() == "{\"ok\":true,\"stream\":true,\"a\":1}\n");
  CHECK(twin.read_piece());
  CHECK(twin.text().ends_with("}\n0\n1\n"));
  CHECK(twin.read().ends_with("2\n3\n4\n{\"end\":true,\"count\":5}\n"));
  CHECK(!alive);
  twin.send(R"({"command":"count"})");
  CHECK(alive);
  twin.hang_up();
  CHECK(!alive);
}

TEST_CASE("lines of a thread: all come in their order, and the thread waits for the reader") {
  EventLoop loop;
  constexpr unsigned kLines = 100000;
  std::atomic<unsigned> made = 0;
  const CommandTable table = one({"count", {}, [&](const ControlRequest&, const ControlAnswer& answer) {
                                    answer.stream("", lines_of_thread(loop,
                                                                      [&](LineSink& sink) {
                                                                        while (made < kLines && sink.put(std::to_string(made)))
                                                                          ++made;
                                                                        sink.end_with("\"made\":" + std::to_string(made));
                                                                      },
                                                                      {}));
                                  }});
  ControlTwin twin(table);
  twin.send(R"({"command":"count"})");
  std::string text = twin.read();
  loop.every(std::chrono::milliseconds(1), [&] {
    const unsigned before = made;
    CHECK(before < kLines + 1);
    text += twin.read();
    if (!twin.is_streaming()) loop.stop();
  });
  loop.run();
  std::string expected = "{\"ok\":true,\"stream\":true}\n";
  for (unsigned i = 0; i < kLines; ++i) expected += std::to_string(i) + "\n";
  CHECK(text == expected + "{\"end\":true,\"made\":100000}\n");
}

TEST_CASE("lines of a thread: a reader that takes nothing stops it, one that goes ends it") {
  EventLoop loop;
  std::atomic<unsigned> made = 0;
  std::atomic<bool> interrupted = false;
  const CommandTable table = one({"endless", {}, [&](const ControlRequest&, const ControlAnswer& answer) {
                                    answer.stream("", lines_of_thread(
                                                          loop,
                                                          [&](LineSink& sink) {
                                                            while (sink.put(std::string(1023, 'x'))) ++made;
                                                          },
                                                          [&] { interrupted = true; }));
                                  }});
  ControlTwin twin(table);
  twin.send(R"({"command":"endless"})");
  const unsigned most = 2 * LineSource::kPiece / 1024;  // one piece handed over, one being made
  while (made < most - 1) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  CHECK(made < most);
  CHECK(!interrupted);
  twin.hang_up();  // joins the thread
  CHECK(interrupted);
  CHECK(made < most);
}
