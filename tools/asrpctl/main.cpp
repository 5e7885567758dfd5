// SPDX-License-Identifier: BSD-3-Clause
// asrpctl: looks into a running daemon through its control socket. Exit status: 0 well, 1 failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "control_client.hpp"
#include "show.hpp"

namespace {

using namespace asrp::ctl;

struct Arguments {
  std::string socket = "/run/asrp/node.sock";
  bool json = false;
  bool watch = false;
  bool all = false;
};

int fail(const std::string& text) {
  std::fprintf(stderr, "asrpctl: %s\n", text.c_str());
  return 1;
}

int counters(ControlClient& client, const Arguments& arguments) {
  const Terminal terminal;
  Counters before;
  for (;;) {
    const Answer answer = client.ask("counters");
    if (!answer.ok) return fail(answer.error);
    if (arguments.json) {
      std::printf("%s\n", counters_json(answer.line).c_str());
    } else {
      const Counters now = parse_counters(answer.line);
      const std::string table = counters_table(now, arguments.watch && !before.empty() ? &before : nullptr, arguments.all);
      if (arguments.watch) terminal.begin_screen();
      std::fputs(table.c_str(), stdout);
      before = now;
    }
    std::fflush(stdout);
    if (!arguments.watch) return 0;
    client.wait_a_second();
  }
}

int status(ControlClient& client, const Arguments& arguments) {
  const Answer answer = client.ask("status");
  if (!answer.ok) return fail(answer.error);
  std::fputs((arguments.json ? status_json(answer.line) + "\n" : status_text(answer.line)).c_str(), stdout);
  return 0;
}

int events(ControlClient& client) {
  const Answer answer = client.ask("events");
  if (!answer.ok) return fail(answer.error);
  for (std::string line; client.next_line(line);) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return fail("the daemon has closed the connection");
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Looks into a running asrpd-node or asrpd-holder.");
  app.footer("Example:\n  asrpctl --socket /run/asrp/holder.sock counters --watch\nManual: asrpctl(8).");
  app.add_option("--socket", arguments.socket, "control socket of the daemon")->capture_default_str();
  app.set_version_flag("--version", "asrpctl " ASRP_VERSION);
  app.require_subcommand(1);
  auto* counters_command = app.add_subcommand("counters", "counters by event and by reason, sorted by name");
  counters_command->add_flag("--json", arguments.json, "one JSON object");
  counters_command->add_flag("--watch", arguments.watch, "again every second, with the change since the last time");
  counters_command->add_flag("--all", arguments.all, "also those that are 0");
  auto* status_command = app.add_subcommand("status", "what runs: version, services, digests, gauges");
  status_command->add_flag("--json", arguments.json, "one JSON object");
  auto* events_command = app.add_subcommand("events", "engine events as they happen, one JSON object per line");
  for (CLI::App* command : {counters_command, status_command, events_command}) command->fallthrough();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  ControlClient client;
  if (const std::string trouble = client.connect(arguments.socket); !trouble.empty()) return fail(trouble);
  if (counters_command->parsed()) return counters(client, arguments);
  if (status_command->parsed()) return status(client, arguments);
  return events(client);
}
