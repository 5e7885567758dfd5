// SPDX-License-Identifier: BSD-3-Clause
// `backups`: what a holder keeps.
#include <cstdint>
#include <memory>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Align = Table::Align;

struct Arguments {
  std::string client, node, protocol;
  std::uint16_t port = 0;
};

}  // namespace

Command backups_command() {
  const auto arguments = std::make_shared<Arguments>();
  return {"backups", "backups of a holder, filtered", "asrpctl --socket /run/asrp/holder.sock backups --client 203.0.113.0/24",
          [arguments](CLI::App& app) {
            app.add_option("--client", arguments->client, "of clients in this prefix")->type_name("PREFIX");
            app.add_option("--node", arguments->node, "made by nodes in this prefix")->type_name("PREFIX");
            app.add_option("--proto", arguments->protocol, "tcp or udp")->check(CLI::IsMember({"tcp", "udp"}));
            app.add_option("--port", arguments->port, "of the service at this port here")->check(CLI::Range(1, 65535));
          },
          [arguments](Console& console) {
            json request = {{"command", "backups"}};
            if (!arguments->client.empty()) request["client"] = arguments->client;
            if (!arguments->node.empty()) request["node"] = arguments->node;
            if (!arguments->protocol.empty()) request["protocol"] = arguments->protocol;
            if (arguments->port != 0) request["port"] = arguments->port;
            return show_listing(console, request,
                                {{"MODE", "mode"},
                                 {"PROTO", "protocol"},
                                 {"CLIENT", "client"},
                                 {"ADDRESS", "address"},
                                 {"SOURCE", "source"},
                                 {"SERVER", "server_address"},
                                 {"NODE", "node"},
                                 {"DATA", "session_data_octets", Align::right}},
                                [](const json& rest) { return plain(member(rest, "backups")) + " backups\n"; });
          }};
}

}  // namespace asrp::ctl
