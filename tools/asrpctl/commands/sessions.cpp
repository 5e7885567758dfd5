// SPDX-License-Identifier: BSD-3-Clause
// `sessions`: the node's sessions, filtered; or who has most of them.
#include <cstdint>
#include <memory>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Align = Table::Align;

struct Arguments {
  std::string client, server, service, protocol, state, by;
  std::uint64_t top = 0;
};

void add_options(CLI::App& app, Arguments& a) {
  app.add_option("--client", a.client, "of clients in this prefix")->type_name("PREFIX");
  app.add_option("--server", a.server, "at this server: address, prefix, address and port, or id")->type_name("SERVER");
  app.add_option("--service", a.service, "of this service")->type_name("NAME");
  app.add_option("--proto", a.protocol, "tcp or udp")->check(CLI::IsMember({"tcp", "udp"}));
  app.add_option("--state", a.state, "ESTABLISHED, TIME_WAIT...; waiting, unprotected: without a backup")->type_name("STATE");
  auto* const top = app.add_option("--top", a.top, "the N clients that have most")->check(CLI::Range(1, 10000))->type_name("N");
  app.add_option("--by", a.by, "what --top goes by: sessions or octets")
      ->check(CLI::IsMember({"sessions", "octets"}))
      ->needs(top);
}

json request_of(const Arguments& a) {
  json request = {{"command", "sessions"}};
  for (const auto& [name, value] :
       {std::pair("client", &a.client), std::pair("server", &a.server), std::pair("service", &a.service),
        std::pair("protocol", &a.protocol), std::pair("state", &a.state), std::pair("by", &a.by)})
    if (!value->empty()) request[name] = *value;
  if (a.top > 0) request["top"] = a.top;
  return request;
}

Table::Cell octets(const json& line) {
  const json& from_client = member(line, "octets_from_client");
  const json& from_server = member(line, "octets_from_server");
  if (!from_client.is_number() || !from_server.is_number()) return "-";
  return short_number(from_client.get<double>() + from_server.get<double>());
}

std::string last_line(const json& rest) {
  std::string out = plain(member(rest, "sessions")) + " sessions";
  if (const json& error = member(rest, "too_low_by"); error.is_number() && error != json(0))
    out += "; many clients: a figure may be too low by " + plain(error);
  if (member(rest, "counted") == json(false)) out += "; octets are not counted (net.netfilter.nf_conntrack_acct is 0)";
  return out + "\n";
}

}  // namespace

Command sessions_command() {
  const auto arguments = std::make_shared<Arguments>();
  return {"sessions", "sessions of a node, filtered; or who has most of them", "asrpctl sessions --service web --top 10",
          [arguments](CLI::App& app) { add_options(app, *arguments); },
          [arguments](Console& console) {
            std::vector<ListingColumn> columns = {{"SERVICE", "service"},
                                                  {"PROTO", "protocol"},
                                                  {"CLIENT", "client"},
                                                  {"SOURCE", "source"},
                                                  {"SERVER", "server_address"},
                                                  {"ID", "server"},
                                                  {"STATE", "state"},
                                                  {"BACKUP", "backup"},
                                                  {"TIMEOUT", "timeout_s", Align::right},
                                                  {"OCTETS", "octets_from_client", Align::right, octets, true}};
            if (arguments->top > 0)
              columns = {{"CLIENT", "client"},
                         {"SESSIONS", "sessions", Align::right},
                         {"PACKETS", "packets", Align::right, {}, true},
                         {"OCTETS", "octets", Align::right, {}, true}};
            return show_listing(console, request_of(*arguments), columns, last_line);
          }};
}

}  // namespace asrp::ctl
