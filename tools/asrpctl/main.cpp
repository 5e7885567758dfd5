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

/// --watch alone means each second.
void add_watch(CLI::App& app, GlobalOptions& options) {
  app.add_option_function<std::vector<double>>(
         "--watch", [&options](const std::vector<double>& seconds) { options.watch = seconds.empty() ? 1.0 : seconds[0]; },
         "again each SECONDS (1), with rates")
      ->expected(0, 1)
      ->check(CLI::Range(0.1, 86400.0))
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
    return app.exit(error) == 0 ? 0 : 2;
  }
  Console console(std::move(options));
  for (const auto& [sub, command] : commands)
    if (sub->parsed()) return command.run(console);
  return 2;
}
