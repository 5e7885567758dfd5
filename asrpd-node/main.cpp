// SPDX-License-Identifier: GPL-2.0-or-later
#include <cstdio>
#include <optional>
#include <string>

#include "asrpd-node/daemon.hpp"
#include "asrpd-node/nat_lookup.hpp"
#include "asrpd-node/past_ranges.hpp"
#include "frame/command_line.hpp"

using namespace asrp;
using namespace asrp::node;

namespace {

int no_nat() {
  std::fputs("asrpd-node: the configuration has no networks of clients: it is for PSV mode\n", stderr);
  return 1;
}

int lookup(const NodeConfig& config, const std::string& asked) {
  if (!config.nat) return no_nat();
  const auto outside = Endpoint::parse(asked);
  if (!outside || outside->port == 0) {
    std::fputs("asrpd-node: --nat-lookup takes ADDRESS:PORT, IPv6 as [ADDRESS]:PORT\n", stderr);
    return 2;
  }
  std::printf("{%s}\n", lookup_members(*config.nat, *outside).c_str());
  return 0;
}

int ranges(const NodeConfig& config) {
  if (!config.nat) return no_nat();
  put_ranges(*config.nat,
             [](std::string_view line) { return std::printf("%.*s\n", static_cast<int>(line.size()), line.data()) >= 0; });
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace

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
    // The questions below are about former ranges too, where this host has had some.
    if (config && config->nat) set_former(*config->nat, read_ranges(config->state_dir));
    return config.has_value();
  };
  program.print = [&] { return print_config(*config); };
  program.log = [&] { return config->log; };
  program.control = [&] { return config->control; };
  program.make = [&](frame::Identity identity) { return make_daemon(std::move(*config), std::move(identity)); };
  program.remove_rules = [&] { return remove_everything(config); };
  program.questions = {
      {"--nat-lookup", "ADDRESS:PORT", "print whose outside address and port this is, from the configuration alone, then exit",
       [&](const std::string& asked) { return lookup(*config, asked); }},
      {"--nat-ranges", "", "print what each client has outside, from the configuration alone, then exit",
       [&](const std::string&) { return ranges(*config); }}};
  return frame::run_program(program, argc, argv);
}
