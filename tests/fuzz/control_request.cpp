// SPDX-License-Identifier: BSD-3-Clause
// A line that comes to the control socket.
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/support/fuzz_target.hpp"
#include "runtime/control_command.hpp"
#include "runtime/log.hpp"
#include "runtime/testing/control_twin.hpp"

namespace asrp::fuzz {
namespace {

using runtime::ControlArgument;

runtime::CommandTable some_commands() {
  runtime::CommandTable table;
  table.add({"echo",
             {{"text"}, {"number", ControlArgument::Kind::number}, {"flag", ControlArgument::Kind::flag}},
             [](const runtime::ControlRequest& request, const runtime::ControlAnswer& answer) {
               answer.give("\"text\":" + runtime::json_quoted(request.text("text").value_or("")) +
                           ",\"number\":" + std::to_string(request.number("number").value_or(0)) +
                           ",\"flag\":" + (request.flag("flag") ? "true" : "false"));
             }});
  table.add({"must", {{"text", ControlArgument::Kind::text, true}}, [](const auto&, const auto& answer) { answer.give(); }});
  table.add({"none", {}, [](const auto&, const auto&) {}});
  return table;
}

}  // namespace

/// Whatever comes, one line is the answer, of ASCII, and says ok or an error.
int one_input(Octets input) {
  const runtime::CommandTable table = some_commands();
  runtime::ControlTwin twin(table);
  const std::string answer = twin.ask(std::string(input.begin(), input.end()));
  FUZZ_CHECK(answer.size() > 1 && answer.find('\n') == answer.size() - 1);
  for (const char c : answer.substr(0, answer.size() - 1)) FUZZ_CHECK(c >= 0x20 && c < 0x7f);
  const nlohmann::json read = nlohmann::json::parse(answer, nullptr, false);
  FUZZ_CHECK(read.is_object() && read.contains("ok") && read["ok"].is_boolean());
  FUZZ_CHECK(read.contains("error") != read["ok"].get<bool>());
  return 0;
}

}  // namespace asrp::fuzz
