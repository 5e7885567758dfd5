// SPDX-License-Identifier: BSD-3-Clause
// asrpctl: looks into a running daemon, and steers it, through its control socket. Exit status: 0 well, 1 failed, 2 wrong
// usage.
#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "commands/commands.hpp"
#include "console.hpp"

using namespace asrp::ctl;

namespace {

/// What CLI::Range would say; that takes nan for a number within any range.
std::string check_period(const std::string& text) {
  constexpr double kShortest = 0.1;
  constexpr double kLongest = 86400;
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds >= kShortest && seconds <= kLongest) return {};
  return "found " + text + ", allowed are 0.1 to 86400 seconds";
}

/// What there is no command for, where that is why none was found; else nothing.
std::string unknown_command(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) return {};
  const std::vector<std::string> rest = app.remaining();
  return rest.empty() || rest.front().empty() || rest.front().front() == '-' ? std::string() : rest.front();
}

/// --watch alone means each second.
void add_watch(CLI::App& app, GlobalOptions& options) {
  app.add_option_function<std::vector<double>>(
         "--watch", [&options](const std::vector<double>& seconds) { options.watch = seconds.empty() ? 1.0 : seconds[0]; },
         "again each SECONDS (1), with rates")
      ->expected(0, 1)
      ->check(check_period)
      ->type_name("SECONDS");
}

}  // namespace

int main(int argc, char** argv) {
  GlobalOptions options;
  CLI::App app("Looks into a running asrpd-node or asrpd-holder, and steers it.");
  app.footer(
      "Example:\n  asrpctl --socket /run/asrp/holder.sock counters --watch\n`asrpctl COMMAND --help` has one of each. Manual: "
      "asrpctl(8).");
  app.add_option("--socket", options.socket, "control socket (/run/asrp/node.sock, or holder.sock if only that is there)");
  app.add_flag("--json", options.json, "JSON for programs");
  add_watch(app, options);
  app.set_version_flag("--version", "asrpctl " ASRP_VERSION);
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Command>> commands;
  for (Command& command : all_commands()) {
    CLI::App* const sub = app.add_subcommand(command.name, command.summary);
    sub->fallthrough();
    sub->footer("Example:\n  " + command.example);
    if (command.options) command.options(*sub);
    commands.emplace_back(sub, std::move(command));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const std::string name = unknown_command(app, error); !name.empty()) {
      Console::fail("there is no command " + printable(name) + "; asrpctl --help has them all");
      return 2;
    }
    return app.exit(error) == 0 ? 0 : 2;
  }
  const bool watched = options.watch.has_value();
  Console console(std::move(options));
  for (const auto& [sub, command] : commands) {
    if (!sub->parsed()) continue;
    if (!watched || command.watchable) return command.run(console);
    Console::fail("--watch does not go with " + command.name);
    return 2;
  }
  return 2;
}
