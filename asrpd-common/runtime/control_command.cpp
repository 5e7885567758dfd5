// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/control_command.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/log.hpp"

namespace asrp::runtime {
namespace {

using nlohmann::json;
using Kind = ControlArgument::Kind;

constexpr std::size_t kEchoed = 64;  // octets of a name that a refusal repeats

std::string shown(std::string_view name) { return "\"" + std::string(name.substr(0, kEchoed)) + "\""; }

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::text:
      return "a string";
    case Kind::number:
      return "an integer from 0 up";
    case Kind::flag:
      return "true or false";
  }
  return "";
}

std::optional<ControlRequest::Value> read(const json& value, Kind kind) {
  if (kind == Kind::text && value.is_string()) return value.get<std::string>();
  if (kind == Kind::number && value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (kind == Kind::flag && value.is_boolean()) return value.get<bool>();
  return std::nullopt;
}

void refuse(const ControlAnswer& answer, const std::string& why, std::string_view kind) {
  answer.refuse(why, "\"kind\":\"" + std::string(kind) + "\"");
}

/// Reads all members but "command"; what is wrong, or nothing.
std::string read_arguments(const json& request, const ControlCommand& command,
                           std::map<std::string, ControlRequest::Value, std::less<>>& out) {
  for (const auto& [name, value] : request.items()) {
    if (name == "command") continue;
    const auto declared = std::find_if(command.arguments.begin(), command.arguments.end(),
                                       [&name = name](const ControlArgument& each) { return each.name == name; });
    if (declared == command.arguments.end()) return shown(command.name) + " has no argument " + shown(name) + " here";
    auto typed = read(value, declared->kind);
    if (!typed) return "argument " + shown(name) + " must be " + std::string(name_of(declared->kind));
    out.emplace(name, std::move(*typed));
  }
  for (const ControlArgument& each : command.arguments)
    if (each.required && out.count(each.name) == 0) return shown(command.name) + " needs the argument " + shown(each.name);
  return {};
}

}  // namespace

struct ControlAnswer::State {
  explicit State(std::weak_ptr<AnswerChannel> to) : channel(std::move(to)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (!given) give("{\"ok\":false,\"error\":\"the daemon has no answer\"}", nullptr);
  }
  void give(const std::string& line, std::unique_ptr<LineSource> source) {
    if (std::exchange(given, true)) return;  // the first one counts
    if (const auto to = channel.lock()) to->answer(line, std::move(source));
  }

  std::weak_ptr<AnswerChannel> channel;
  bool given = false;
};

ControlAnswer::ControlAnswer(std::weak_ptr<AnswerChannel> channel) : state_(std::make_shared<State>(std::move(channel))) {}

void ControlAnswer::give(const std::string& members) const {
  state_->give("{\"ok\":true" + (members.empty() ? "" : "," + members) + "}", nullptr);
}

void ControlAnswer::refuse(const std::string& why, const std::string& members) const {
  state_->give("{\"ok\":false,\"error\":" + json_quoted(why) + (members.empty() ? "" : "," + members) + "}", nullptr);
}

void ControlAnswer::stream(const std::string& members, std::unique_ptr<LineSource> source) const {
  state_->give("{\"ok\":true,\"stream\":true" + (members.empty() ? "" : "," + members) + "}", std::move(source));
}

void ControlAnswer::subscribe() const {
  give();
  if (const auto to = state_->channel.lock()) to->subscribe();
}

bool ControlAnswer::is_wanted() const { return !state_->channel.expired(); }

void CommandTable::add(ControlCommand command) {
  const std::string name = command.name;
  commands_.insert_or_assign(name, std::move(command));
}

void CommandTable::run(std::string_view line, const ControlAnswer& answer) const {
  const json request = json::parse(line.begin(), line.end(), nullptr, false);
  if (!request.is_object() || !request.contains("command") || !request["command"].is_string())
    return refuse(answer, "a request is one line with a JSON object that has a command", "request");
  const auto name = request["command"].get<std::string>();
  const auto found = commands_.find(name);
  if (found == commands_.end()) return refuse(answer, "no command " + shown(name) + " here", "command");
  std::map<std::string, ControlRequest::Value, std::less<>> values;
  if (const std::string problem = read_arguments(request, found->second, values); !problem.empty())
    return refuse(answer, problem, "argument");
  found->second.run(ControlRequest(std::move(values)), answer);
}

std::vector<std::string> CommandTable::names() const {
  std::vector<std::string> out;
  for (const auto& [name, command] : commands_) out.push_back(name);
  return out;
}

}  // namespace asrp::runtime
