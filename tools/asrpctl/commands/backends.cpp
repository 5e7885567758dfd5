// SPDX-License-Identifier: BSD-3-Clause
// `backends`: every server of every pool, and what the node knows of it.
#include <memory>

#include "commands/commands.hpp"
#include "listing.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;
using Align = Table::Align;

/// A word with a colour for what it means.
ListingColumn coloured(const std::string& title, const char* name, bool optional = false) {
  return {title, name, Align::left,
          [name](const json& line) {
            const std::string word = plain(member(line, name));
            const Colour colour = word == "yes" || word == "up" || word == "answers"     ? Colour::good
                                  : word == "down" || word == "gone" || word == "damped" ? Colour::bad
                                  : word == "drained" || word == "no"                    ? Colour::warning
                                                                                         : Colour::none;
            return Table::Cell(word, colour);
          },
          optional};
}

Table::Cell load_of(const json& line) { return load_text(member(line, "load"), "unknown"); }

}  // namespace

Command backends_command() {
  const auto pool = std::make_shared<std::string>();
  const auto sessions = std::make_shared<bool>(false);
  return {"backends", "servers: state, holder, health, whether new sessions go there", "asrpctl backends --pool web",
          [pool, sessions](CLI::App& app) {
            app.add_option("--pool", *pool, "of this pool alone")->type_name("NAME");
            app.add_flag("--sessions", *sessions, "counts each one's sessions now, in the kernel's whole table");
          },
          [pool, sessions](Console& console) {
            json request = {{"command", "backends"}};
            if (!pool->empty()) request["pool"] = *pool;
            if (*sessions) request["sessions"] = true;
            // A column for each thing that is known of a server; those that the daemon does not tell are left out.
            return show_listing(console, request,
                                {{"POOL", "pool"},
                                 {"ID", "id"},
                                 {"ADDRESS", "address"},
                                 {"WEIGHT", "weight", Align::right},
                                 {"STATE", "state"},
                                 coloured("NEW", "new_sessions"),
                                 coloured("HOLDER", "holder_seen"),
                                 coloured("HEALTH", "health", true),
                                 {"FALLS", "falls", Align::right, {}, true},
                                 {"LOAD", "load", Align::right, load_of, true},
                                 {"SESSIONS", "sessions", Align::right, {}, true},
                                 {"LAST CHECK", "health_detail", Align::left, {}, true}});
          }};
}

}  // namespace asrp::ctl
