// SPDX-License-Identifier: BSD-3-Clause
// `explain`: what the node would do with a packet, and why.
#include <memory>

#include "commands/commands.hpp"

namespace asrp::ctl {

using nlohmann::json;

namespace {

struct Arguments {
  std::string protocol;
  std::string source;
  std::string destination;
  bool first = false;
};

std::string epoch_text(const json& candidate) {
  const json& epoch = member(candidate, "epoch");
  if (member(candidate, "coming") == json(true)) return "coming";
  return epoch == json(0) ? "today" : "former " + plain(epoch);
}

/// Ranks are counted from 1 for people.
std::string rank_text(const json& candidate) {
  const json& rank = member(candidate, "rank");
  return rank.is_number_unsigned() ? std::to_string(rank.get<std::uint64_t>() + 1) : plain(rank);
}

Colour colour_of(const json& candidate) {
  if (member(candidate, "state") == json("down") || member(candidate, "holder") == json("gone")) return Colour::bad;
  return member(candidate, "state") == json("drained") ? Colour::warning : Colour::none;
}

std::string table_of(const json& candidates, bool queries, bool colours) {
  Table table({{queries ? "ASKED" : "CHOSEN", Table::Align::left},
               {"SERVER", Table::Align::left},
               {"ADDRESS", Table::Align::left},
               {"POOL OF", Table::Align::left},
               {"RANK", Table::Align::right},
               {"STATE", Table::Align::left},
               {"HOLDER", Table::Align::left},
               {"LOAD", Table::Align::right},
               {"REASON", Table::Align::left}});
  for (const json& each : candidates) {
    const auto text = [&each](const char* name) { return plain(member(each, name)); };
    const json& round = member(each, "round");
    const std::string asked = round == json(0) ? "-" : "round " + plain(round);
    table.add({queries                                ? asked
               : member(each, "chosen") == json(true) ? "yes"
                                                      : "-",
               text("server"),
               text("address"),
               epoch_text(each),
               rank_text(each),
               {text("state"), colour_of(each)},
               text("holder"),
               load_text(member(each, "load"), "-"),
               text("reason")});
  }
  return table.text(colours);
}

std::string explain_text(const Sample& sample) {
  const json& now = sample.now;
  const auto is = [&now](const char* name) { return member(now, name) == json(true); };
  std::string out = plain(member(now, "sentence")) + "\n";
  if (!member(now, "service").is_null())
    out += "service " + plain(member(now, "service")) + ", pool " + plain(member(now, "pool")) + ", policy " +
           plain(member(now, "policy")) + "\n";
  if (const json& client = member(now, "client"); !client.is_null()) {
    out += "client " + plain(member(client, "address"));
    if (!member(client, "outside").is_null())
      out += ", outside " + plain(member(client, "outside")) + " ports " + plain(member(client, "first_port")) + "-" +
             plain(member(client, "last_port"));
    out += member(client, "holder") == json("gone") ? ", without a holder\n" : "\n";
  }
  if (const json& entry = member(now, "entry"); !entry.is_null())
    out += "entry " + plain(member(entry, "client_side")) + " to " + plain(member(entry, "server_side")) + ", mark " +
           plain(member(entry, "mark")) + (member(entry, "closing") == json(true) ? ", closing" : "") + "\n";
  if (const json& from = member(now, "seen_from"); !from.is_null()) out += "the server sees it come from " + plain(from) + "\n";
  if (is("owner_changed")) out += "its hash region has another owner since a moment ago\n";
  if (is("by_chance")) out += "chance decides among those that can be drawn\n";
  if (is("outside_list")) out += "the server is not one of those that a recovery asks first\n";
  if (const json& workers = member(now, "by_worker"); !workers.empty()) {
    out += "the kernel deals it to one of the workers, which would do different things; worker 1 is the one below\n";
    for (const json& each : workers)
      out += "  worker " + plain(member(each, "worker")) + ": " + plain(member(each, "sentence")) +
             (member(each, "server").is_null() ? "" : " It would go to " + plain(member(each, "server")) + ".") + "\n";
  }
  if (const json& choices = member(now, "choices"); !choices.empty())
    out += "\nWhere a new session goes:\n" + table_of(choices, false, sample.colours);
  if (const json& candidates = member(now, "candidates"); !candidates.empty())
    out += "\nWho is asked for a session that is not known:\n" + table_of(candidates, true, sample.colours);
  if (is("list_cut")) out += "more servers of former pools had a claim than one round asks\n";
  return out;
}

}  // namespace

Command explain_command() {
  const auto arguments = std::make_shared<Arguments>();
  return {"explain", "what the node would do with a packet, and why",
          "asrpctl explain tcp 203.0.113.7:50000 198.51.100.1:80 --first",
          [arguments](CLI::App& app) {
            app.add_option("PROTOCOL", arguments->protocol, "tcp or udp")->required();
            app.add_option("SOURCE", arguments->source, "ADDRESS:PORT that the packet comes from")->required();
            app.add_option("DESTINATION", arguments->destination, "ADDRESS:PORT that it goes to")->required();
            app.add_flag("--first", arguments->first, "it begins a session by its kind: a SYN, a DNS query, ...");
          },
          [arguments](Console& console) {
            return console.show({{"command", "explain"},
                                 {"protocol", arguments->protocol},
                                 {"source", arguments->source},
                                 {"destination", arguments->destination},
                                 {"first", arguments->first}},
                                explain_text);
          }};
}

}  // namespace asrp::ctl
