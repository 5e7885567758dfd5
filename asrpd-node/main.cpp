// SPDX-License-Identifier: GPL-2.0-or-later
#include <optional>
#include <string>

#include "asrpd-node/daemon.hpp"
#include "frame/command_line.hpp"

using namespace asrp;
using namespace asrp::node;

int main(int argc, char** argv) {
  std::optional<NodeConfig> config;
  frame::Program program;
  program.name = "asrpd-node";
  program.version = ASRP_VERSION;
  program.summary = "ASRP cluster node: a load balancer whose sessions survive the loss of a node.";
  program.default_config = "/etc/asrp/node.toml";
  program.print_help = "print the effective configuration, keys included, then exit";
  program.remove_help = "remove the rules that outlive the daemon, put sysctls back, then exit";
  program.load = [&](const std::string& file, config::Problems& problems) {
    config = load_config(file, problems);
    return config.has_value();
  };
  program.print = [&] { return print_config(*config); };
  program.log = [&] { return config->log; };
  program.control = [&] { return config->control; };
  program.make = [&](frame::Identity identity) { return make_daemon(std::move(*config), std::move(identity)); };
  program.remove_rules = [&] { return remove_everything(config); };
  return frame::run_program(program, argc, argv);
}
