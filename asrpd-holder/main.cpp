// SPDX-License-Identifier: GPL-2.0-or-later
// asrpd-holder: command line, configuration, capabilities, start. Exit status: 0 well, 1 failed, 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "asrpd-holder/daemon.hpp"
#include "runtime/log.hpp"
#include "runtime/privileges.hpp"

namespace {

using namespace asrp;

struct Arguments {
  std::string config = "/etc/asrp/holder.toml";
  bool check_config = false, print_config = false, remove_rules = false;
};

constexpr const char* kExample =
    "Example:\n"
    "  asrpd-holder --check-config --config /etc/asrp/holder.toml && systemctl reload asrpd-holder\n"
    "Manual: asrpd-holder(8), asrpd.toml(5). SIGHUP reloads, SIGTERM stops.";

int fail(const std::string& text) {
  std::fprintf(stderr, "asrpd-holder: %s\n", text.c_str());
  return 1;
}

std::optional<holder::HolderConfig> load(const std::string& file) {
  config::Problems problems;
  auto config = holder::load_config(file, problems);
  for (const config::Problem& problem : problems.list) std::fprintf(stderr, "%s\n", problem.to_string().c_str());
  return config;
}

int remove_rules(const Arguments& arguments, bool config_given) {
  std::optional<holder::HolderConfig> config;
  if (config_given && !(config = load(arguments.config))) return 1;
  if (const auto missing = runtime::missing_capabilities("asrpd-holder --remove-rules")) return fail(*missing);
  if (const auto done = holder::remove_everything(); !done) return fail(done.error().to_string());
  return 0;
}

int serve(holder::HolderConfig config, const std::string& file) {
  if (const auto missing = runtime::missing_capabilities("asrpd-holder")) return fail(*missing);
  if (const auto trouble = runtime::configure_log(config.log)) return fail("log: " + *trouble);
  if (const auto trouble = runtime::drop_other_capabilities()) return fail(*trouble);
  auto daemon = holder::Daemon::start(std::move(config), file);
  if (!daemon) {
    runtime::log_error("start", daemon.error().to_string());
    return 1;
  }
  (*daemon)->run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("ASRP backup holder: keeps the sessions of a cluster's nodes at their own endpoint.");
  app.footer(kExample);
  auto* config_option = app.add_option("--config", arguments.config, "configuration file")->capture_default_str();
  auto* check = app.add_flag("--check-config", arguments.check_config, "report every problem of the configuration, then exit");
  auto* print = app.add_flag("--print-config", arguments.print_config, "print the effective configuration, then exit");
  auto* remove = app.add_flag("--remove-rules", arguments.remove_rules, "remove the rules that outlive the daemon, then exit");
  check->excludes(print)->excludes(remove);
  print->excludes(remove);
  app.set_version_flag("--version", "asrpd-holder " ASRP_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    if (arguments.remove_rules) return remove_rules(arguments, config_option->count() > 0);
    auto config = load(arguments.config);
    if (!config) return 1;
    if (arguments.check_config) return 0;
    if (arguments.print_config) {
      std::fputs(holder::print_config(*config).c_str(), stdout);
      return 0;
    }
    return serve(std::move(*config), arguments.config);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
}
