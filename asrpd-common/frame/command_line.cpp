// SPDX-License-Identifier: GPL-2.0-or-later
#include "frame/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "runtime/privileges.hpp"

namespace asrp::frame {
namespace {

struct Arguments {
  std::string config;
  bool config_given = false, check_config = false, print_config = false, remove_rules = false;
  std::function<int()> question;  // empty: none is asked
};

int fail(const Program& program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), text.c_str());
  return 1;
}

/// Says which ones `command` lacks; what is said begins with `command`.
bool has_capabilities(const std::string& command) {
  const auto missing = runtime::missing_capabilities(command);
  if (missing) std::fprintf(stderr, "%s\n", missing->c_str());
  return !missing;
}

bool load(const Program& program, const std::string& file, bool to_start = false) {
  config::Problems problems;
  const bool good = program.load(file, problems) && !(to_start && problems.bar_start());
  for (const config::Problem& problem : problems.list) std::fprintf(stderr, "%s\n", problem.to_string().c_str());
  return good;
}

int remove_rules(const Program& program, const Arguments& arguments) {
  if (arguments.config_given && !load(program, arguments.config)) return 1;
  if (!has_capabilities(program.name + " --remove-rules")) return 1;
  if (const auto done = program.remove_rules(); !done) return fail(program, done.error().to_string());
  return 0;
}

int serve(const Program& program, const std::string& file) {
  if (!has_capabilities(program.name)) return 1;
  if (const auto trouble = runtime::configure_log(program.log())) return fail(program, "log: " + *trouble);
  // While it may: the right to join a group is given up with the rest, and only members may give their files to it.
  if (const auto group = runtime::find_group(program.control().group)) runtime::join_group(*group);
  if (const auto trouble = runtime::drop_other_capabilities()) return fail(program, *trouble);
  const auto daemon = program.make({program.name, program.version, std::filesystem::absolute(file).string()});
  if (const auto done = daemon->start(); !done) {
    runtime::log_error("start", done.error().to_string());
    return 1;
  }
  daemon->run();
  return 0;
}

int act(const Program& program, const Arguments& arguments) {
  if (arguments.remove_rules) return remove_rules(program, arguments);
  const bool to_start = !arguments.check_config && !arguments.question && !arguments.print_config;
  if (!load(program, arguments.config, to_start)) return 1;
  if (to_start) return serve(program, arguments.config);
  if (arguments.check_config) return 0;
  if (arguments.question) return arguments.question();
  std::fputs(program.print().c_str(), stdout);
  return 0;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  Arguments arguments;
  arguments.config = program.default_config;
  CLI::App app(program.summary);
  const std::string command = program.name + " --check-config --config " + program.default_config;
  app.footer("Example:\n  " + command + " && systemctl reload " + program.name + "\nManual: " + program.name +
             "(8), asrpd.toml(5). SIGHUP reloads, SIGTERM stops.");
  const auto* config = app.add_option("--config", arguments.config, "configuration file")->capture_default_str();
  auto* check = app.add_flag("--check-config", arguments.check_config, "report every problem of the configuration, then exit");
  auto* print = app.add_flag("--print-config", arguments.print_config, program.print_help);
  auto* remove = app.add_flag("--remove-rules", arguments.remove_rules, program.remove_help);
  check->excludes(print)->excludes(remove);
  print->excludes(remove);
  for (const Question& question : program.questions) {
    const auto ask = [&arguments, &question](const std::string& value) {
      arguments.question = [&question, value] { return question.answer(value); };
    };
    auto* option = question.value.empty()
                       ? app.add_flag_callback(
                             question.option, [ask] { ask(""); }, question.help)
                       : app.add_option_function<std::string>(question.option, ask, question.help)->type_name(question.value);
    option->excludes(check)->excludes(print)->excludes(remove);
  }
  app.set_version_flag("--version", program.name + " " + program.version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  arguments.config_given = config->count() > 0;
  try {
    return act(program, arguments);
  } catch (const std::exception& error) {
    return fail(program, error.what());
  }
}

}  // namespace asrp::frame
