// SPDX-License-Identifier: BSD-3-Clause
// `reload`: has the configuration read again and waits for what becomes of it; --dry-run tells what it would change.
#include <cstdio>
#include <memory>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;

void print_problems(const json& answer) {
  for (const json& each : member(answer, "problems")) std::fprintf(stderr, "%s\n", plain(each).c_str());
}

std::string percent(const json& share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%", share.is_number() ? 100 * share.get<double>() : 0);
  return text;
}

/// What a line of a dry run says.
std::string change_text(const json& line) {
  if (line.contains("pool"))
    return "pool " + plain(line["pool"]) + " begins an epoch: " + percent(member(line, "moved")) +
           " of the new sessions get another first server" + (member(line, "counted") == json(false) ? " (about)" : "") +
           "; the servers' shares differ by " + percent(member(line, "minimum")) + "\n";
  const std::string what = plain(member(line, "change"));
  std::string out = what + " " + plain(member(line, "key"));
  const std::string now = plain(member(line, "now"));
  const std::string then = plain(member(line, "then"));
  if (what == "changed") out += ": " + now + " -> " + then;
  if (what == "added" && !then.empty()) out += ": " + then;
  if (what == "removed" && !now.empty()) out += ": " + now;
  return out + (member(line, "next_start") == json(true) ? " (waits for the next start)\n" : "\n");
}

int dry_run(Console& console) {
  bool any = false;
  const auto rest = console.stream({{"command", "reload"}, {"dry_run", true}}, [&](const std::string& text) {
    any = true;
    if (console.options().json) return Console::print(text + "\n");
    Console::print(change_text(json::parse(text, nullptr, false)));
  });
  if (!rest) return 1;
  print_problems(*rest);
  if (!any && !console.options().json) Console::print("nothing would change\n");
  return 0;
}

int reload(Console& console) {
  const auto answer = console.ask({{"command", "reload"}});
  if (!answer) return 1;
  print_problems(*answer);
  if (console.options().json) {
    Console::print(json({{"problems", member(*answer, "problems")}}).dump() + "\n");
  } else {
    Console::print("in force\n");
  }
  return 0;
}

}  // namespace

Command reload_command() {
  const auto dry = std::make_shared<bool>(false);
  return {"reload",
          "reads the configuration again and waits for the result",
          "asrpctl reload --dry-run",
          [dry](CLI::App& app) { app.add_flag("--dry-run", *dry, "only tells what would change, with the same checks"); },
          [dry](Console& console) { return *dry ? dry_run(console) : reload(console); },
          false};
}

}  // namespace asrp::ctl
