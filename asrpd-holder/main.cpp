// SPDX-License-Identifier: GPL-2.0-or-later
#include <optional>
#include <string>

#include "asrpd-holder/daemon.hpp"
#include "frame/command_line.hpp"

using namespace asrp;
using namespace asrp::holder;

int main(int argc, char** argv) {
  std::optional<HolderConfig> config;
  frame::Program program;
  program.name = "asrpd-holder";
  program.version = ASRP_VERSION;
  program.summary = "ASRP backup holder: keeps the sessions of a cluster's nodes at their own endpoint.";
  program.default_config = "/etc/asrp/holder.toml";
  program.print_help = "print the effective configuration, then exit";
  program.remove_help = "remove the rules that outlive the daemon, then exit";
  program.load = [&](const std::string& file, config::Problems& problems) {
    config = load_config(file, problems);
    return config.has_value();
  };
  program.print = [&] { return print_config(*config); };
  program.log = [&] { return config->log; };
  program.control = [&] { return config->control; };
  program.make = [&](frame::Identity identity) { return make_daemon(std::move(*config), std::move(identity)); };
  program.remove_rules = remove_everything;
  return frame::run_program(program, argc, argv);
}
