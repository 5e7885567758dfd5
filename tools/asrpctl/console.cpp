// SPDX-License-Identifier: BSD-3-Clause
#include "console.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "table.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kNodeSocket = "/run/asrp/node.sock";
constexpr const char* kHolderSocket = "/run/asrp/holder.sock";

bool wants_colours() {
  const char* const term = std::getenv("TERM");
  const char* const refused = std::getenv("NO_COLOR");
  return (refused == nullptr || *refused == '\0') && term != nullptr && std::string_view(term) != "dumb";
}

json without_ok(json answer) {
  answer.erase("ok");
  return answer;
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

Console::Console(GlobalOptions options)
    : options_(std::move(options)), terminal_(isatty(STDOUT_FILENO) != 0), colours_(terminal_ && wants_colours()) {
  if (!options_.socket.empty()) return;
  const bool only_holder = access(kNodeSocket, F_OK) != 0 && access(kHolderSocket, F_OK) == 0;
  options_.socket = only_holder ? kHolderSocket : kNodeSocket;
}

int Console::fail(const std::string& text) {
  std::fprintf(stderr, "asrpctl: %s\n", text.c_str());
  return 1;
}

void Console::print(const std::string& text) {
  put(text);
  std::fflush(stdout);
}

void Console::put(const std::string& text) { std::fputs(text.c_str(), stdout); }

bool Console::connect() {
  if (connected_) return true;
  if (const std::string trouble = client_.connect(options_.socket); !trouble.empty()) {
    fail(trouble);
    return false;
  }
  connected_ = true;
  return true;
}

/// A daemon that does not know the command or an argument of it: says which one it is, and of which version.
int Console::refused(const json& request, const Answer& answer) {
  for (const json& each : member(answer.body, "problems")) std::fprintf(stderr, "%s\n", plain(each).c_str());
  if (answer.kind() != "command" && answer.kind() != "argument") return fail(printable(answer.error));
  const json status = client_.ask({{"command", "status"}}).body;
  const json version = member(status, "version");
  if (version == json(ASRP_VERSION) && answer.kind() == "argument") return fail(printable(answer.error));
  const std::string who = plain(member(status, "program")) + " " + plain(version) + " at " + options_.socket;
  if (version == json(ASRP_VERSION))
    return fail(who + " has no command " + plain(request["command"]) + ": it is one of the other daemon");
  return fail(who + ": " + printable(answer.error) + "; this asrpctl is of version " + ASRP_VERSION);
}

void Console::begin_screen() const { std::fputs(terminal_ ? "\033[H\033[2J" : "\n", stdout); }

int Console::show(const json& request, const std::function<std::string(const Sample&)>& text_of,
                  const std::function<json(const json&)>& json_of) {
  std::optional<json> before;
  Clock::time_point before_at;
  for (;;) {
    auto now = ask(request);
    if (!now) return 1;
    const Clock::time_point now_at = Clock::now();
    if (options_.json) {
      print(dump(json_of ? json_of(*now) : without_ok(*now)) + "\n");
    } else {
      const Sample sample{*now, before ? &*before : nullptr, std::chrono::duration<double>(now_at - before_at).count(),
                          colours_};
      const std::string text = text_of(sample);
      if (options_.watch) begin_screen();
      print(text);
    }
    if (!options_.watch) return 0;
    before = std::move(now);
    before_at = now_at;
    std::this_thread::sleep_for(std::chrono::duration<double>(*options_.watch));
  }
}

int Console::repeat(const std::function<int()>& once) {
  for (;;) {
    if (options_.watch && !options_.json) begin_screen();
    const int status = once();
    if (status != 0 || !options_.watch) return status;
    std::this_thread::sleep_for(std::chrono::duration<double>(*options_.watch));
  }
}

std::optional<json> Console::ask(const json& request) {
  if (!connect()) return std::nullopt;
  Answer answer = client_.ask(request);
  if (answer.ok) return std::move(answer.body);
  refused(request, answer);
  return std::nullopt;
}

std::optional<json> Console::stream(const json& request, const std::function<void(const std::string&)>& on_line) {
  auto first = ask(request);
  if (!first) return std::nullopt;
  for (std::string line; client_.next_line(line);) {
    if (line.rfind("{\"end\":true", 0) != 0) {
      on_line(line);
      continue;
    }
    const json last = json::parse(line, nullptr, false);
    if (!last.is_object()) break;
    if (last.contains("error")) {
      fail(plain(last["error"]));
      return std::nullopt;
    }
    for (const char* const name : {"ok", "stream"}) first->erase(name);
    first->update(last);
    std::fflush(stdout);
    first->erase("end");
    return first;
  }
  fail("the daemon has closed the connection in the middle of its answer");
  return std::nullopt;
}

int Console::follow(const json& request) {
  if (!ask(request)) return 1;
  for (std::string line; client_.next_line(line);) print(line + "\n");
  return fail("the daemon has closed the connection");
}

}  // namespace asrp::ctl
