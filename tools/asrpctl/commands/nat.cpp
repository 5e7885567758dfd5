// SPDX-License-Identifier: BSD-3-Clause
// `nat lookup` and `nat ranges`: whose an outside address and port are, in ACT mode. Asks the daemon, or with --config the
// daemon's program about a file: then nothing needs to run.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;

struct Arguments {
  std::string address;
  std::uint64_t port = 0;
  std::string config;
  CLI::App* lookup = nullptr;
};

std::string former_text(const json& answer) {
  std::string out;
  for (const json& each : member(answer, "former"))
    out += "from " + moment_text(member(each, "began")) + " to " + moment_text(member(each, "ended")) + " it was of client " +
           plain(member(each, "client")) + ", network " + plain(member(each, "network")) + "\n";
  return out;
}

std::string lookup_text(const json& answer) {
  const auto text = [&answer](const char* name) { return plain(member(answer, name)); };
  const std::string asked = text("address") + " port " + text("port");
  if (member(answer, "client").is_null()) return asked + " is nobody's\n" + former_text(answer);
  std::string out = asked + " is of client " + text("client") + ", network " + text("network") + ", which has the ports " +
                    text("ports") + (member(answer, "override") == json(true) ? " by an override" : "") + "\n";
  if (!member(answer, "slice").is_null())
    out += "sessions with this port were made by the gateway with slice " + text("slice") + "\n";
  return out + former_text(answer);
}

Table::Cell until(const json& line) {
  const json& value = member(line, "ended");
  return value.is_number_integer() ? moment_text(value) : "today";
}

const std::vector<ListingColumn>& range_columns() {
  static const std::vector<ListingColumn> kColumns = {{"CLIENT", "client"},     {"NETWORK", "network"},
                                                      {"OUTSIDE", "outside"},   {"PORTS", "ports"},
                                                      {"OVERRIDE", "override"}, {"UNTIL", "ended", Table::Align::left, until}};
  return kColumns;
}

/// The daemon's program, beside this one where both are installed.
std::string daemon_program() {
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto beside = own.parent_path() / "asrpd-node";
  return std::filesystem::exists(beside, ignored) ? beside.string() : "asrpd-node";
}

/// Runs it and hands each line that it writes on; what it complains of goes where our complaints go. Returns the exit status.
int ask_program(std::vector<std::string> arguments, const std::function<void(const std::string& line)>& on_line) {
  int ends[2];
  if (::pipe(ends) != 0) return Console::fail("no pipe");
  const std::string program = daemon_program();
  arguments.insert(arguments.begin(), program);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    std::vector<char*> argv;
    for (std::string& each : arguments) argv.push_back(each.data());
    argv.push_back(nullptr);
    ::execvp(program.c_str(), argv.data());
    std::fprintf(stderr, "asrpctl: cannot run %s, which reads the configuration\n", program.c_str());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::FILE* const output = ::fdopen(ends[0], "r");
  char* line = nullptr;
  std::size_t room = 0;
  for (ssize_t size = 0; output != nullptr && (size = ::getline(&line, &room, output)) > 0;)
    on_line(std::string(line, static_cast<std::size_t>(size)));
  std::free(line);
  if (output != nullptr) std::fclose(output);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) < 0) return Console::fail("cannot run " + program);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

int show_lookup(Console& console, const Arguments& a) {
  if (a.config.empty())
    return console.show({{"command", "nat_lookup"}, {"address", a.address}, {"port", a.port}},
                        [](const Sample& sample) { return lookup_text(sample.now); });
  const bool six = a.address.find(':') != std::string::npos;
  const std::string endpoint = (six ? "[" + a.address + "]" : a.address) + ":" + std::to_string(a.port);
  return ask_program({"--config", a.config, "--nat-lookup", endpoint}, [&](const std::string& line) {
    const json answer = json::parse(line, nullptr, false);
    Console::print(console.options().json || !answer.is_object() ? line : lookup_text(answer));
  });
}

int show_ranges(Console& console, const Arguments& a) {
  if (a.config.empty()) return show_listing(console, {{"command", "nat_ranges"}}, range_columns());
  Rows rows(range_columns(), console.colours());
  const int status = ask_program({"--config", a.config, "--nat-ranges"}, [&](const std::string& line) {
    if (console.options().json) return Console::put(line);
    const json object = json::parse(line, nullptr, false);
    if (object.is_object()) rows.add(object);
  });
  rows.end();
  return status;
}

}  // namespace

Command nat_command() {
  auto arguments = std::make_shared<Arguments>();
  return {"nat", "ACT mode: whose an outside address and port are", "asrpctl nat lookup 192.0.2.1 40000",
          [arguments](CLI::App& app) {
            app.require_subcommand(1);
            app.add_option("--config", arguments->config, "answer from this configuration of asrpd-node; no daemon is needed")
                ->type_name("FILE");
            arguments->lookup = app.add_subcommand("lookup", "the client that has an outside address and port");
            arguments->lookup->fallthrough();
            arguments->lookup->add_option("ADDRESS", arguments->address, "outside address")->required();
            arguments->lookup->add_option("PORT", arguments->port, "outside port")->required()->check(CLI::Range(1, 65535));
            app.add_subcommand("ranges", "what each client has")->fallthrough();
          },
          [arguments](Console& console) {
            return arguments->lookup->parsed() ? show_lookup(console, *arguments) : show_ranges(console, *arguments);
          }};
}

}  // namespace asrp::ctl
