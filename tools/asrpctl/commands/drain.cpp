// SPDX-License-Identifier: BSD-3-Clause
// `drain`, `undrain`, `drains`: servers, or the whole node, taken out for new sessions.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>

#include "commands/commands.hpp"

namespace asrp::ctl {
namespace {

using nlohmann::json;

struct Target {
  std::string server;
  std::string pool;
  bool node = false;
  std::optional<double> deadline;  // seconds
  bool wait = false;
};

void add_target(CLI::App& app, const std::shared_ptr<Target>& target) {
  auto* server = app.add_option("SERVER", target->server, "id of the server, in all pools that have it");
  app.add_option("--pool", target->pool, "in this pool only")->needs(server);
  app.add_flag("--node", target->node, "the whole node")->excludes(server);
}

/// Exactly one of them is given.
bool is_whole(const Target& target) { return target.node != !target.server.empty(); }

json request_of(const std::string& command, const Target& target) {
  json request = {{"command", command}};
  if (target.node) request["node"] = true;
  if (!target.server.empty()) request["server"] = target.server;
  if (!target.pool.empty()) request["pool"] = target.pool;
  if (target.deadline) request["deadline"] = static_cast<std::uint64_t>(std::ceil(*target.deadline));
  return request;
}

/// "90", "90s", "30m", "2h" as seconds.
std::string read_deadline(const std::string& text, std::optional<double>& out) {
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::string unit = text.substr(end);
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" || unit == "min" ? 60 : unit == "h" ? 3600 : 0;
  if (end == 0 || factor == 0 || !(number > 0) || number > 1e9) return "a deadline is a time such as 90s, 30m or 2h";
  out = number * factor;
  return {};
}

std::string warnings_of(const json& answer) {
  std::string out;
  for (const json& pool : member(answer, "pools_without_server"))
    out += "warning: no server of pool " + plain(pool) + " takes new sessions\n";
  return out;
}

std::string done_text(const json& answer, const char* list, const std::string& node, const std::string& what) {
  std::string out;
  for (const json& each : member(answer, list))
    out += "server " + plain(member(each, "server")) + " of pool " + plain(member(each, "pool")) + what + "\n";
  if (out.empty()) out = node + "\n";
  return out + warnings_of(answer);
}

std::string deadline_text(const json& drain) {
  const json& left = member(drain, "left_s");
  if (!left.is_number_integer()) return "-";
  const auto seconds = left.get<double>();
  return seconds > 0 ? "in " + duration_text(seconds) : duration_text(-seconds) + " ago";
}

/// Of one drain in the answer before: how many sessions it had.
std::optional<std::uint64_t> sessions_before(const Sample& sample, const json& drain) {
  if (sample.before == nullptr) return std::nullopt;
  if (!drain.contains("server")) {
    const json& old = member(member(*sample.before, "node"), "sessions");
    return old.is_number_unsigned() ? std::optional(old.get<std::uint64_t>()) : std::nullopt;
  }
  for (const json& old : member(*sample.before, "servers"))
    if (member(old, "server") == drain["server"] && member(old, "pool") == member(drain, "pool") &&
        member(old, "sessions").is_number_unsigned())
      return old["sessions"].get<std::uint64_t>();
  return std::nullopt;
}

void add_row(Table& table, const Sample& sample, const json& drain, const std::string& pool, const std::string& name) {
  const json& sessions = member(drain, "sessions");
  const std::uint64_t now = sessions.is_number_unsigned() ? sessions.get<std::uint64_t>() : 0;
  const auto before = sessions_before(sample, drain);
  std::string change;
  if (before && *before != now)
    change = now > *before ? "+" + std::to_string(now - *before) : "-" + std::to_string(*before - now);
  const json& drained_for = member(drain, "for_s");
  const bool overdue = member(drain, "overdue") == json(true);
  table.add({pool,
             name,
             drained_for.is_number() ? duration_text(drained_for.get<double>()) : "-",
             {deadline_text(drain), overdue && now > 0 ? Colour::bad : Colour::none},
             {plain(sessions), now == 0 ? Colour::good : Colour::none},
             change});
}

std::string drains_text(const Sample& sample) {
  Table table({{"POOL", Table::Align::left},
               {"SERVER", Table::Align::left},
               {"DRAINED FOR", Table::Align::right},
               {"DEADLINE", Table::Align::right},
               {"SESSIONS LEFT", Table::Align::right},
               {"", Table::Align::right}});
  const json& node = member(sample.now, "node");
  if (node.is_object()) add_row(table, sample, node, "", "the node");
  for (const json& each : member(sample.now, "servers"))
    add_row(table, sample, each, plain(member(each, "pool")), plain(member(each, "server")));
  return table.empty() ? "nothing is drained\n" : table.text(sample.colours);
}

/// Sessions left of what a target names, and whether a deadline is over.
struct Left {
  std::uint64_t sessions = 0;
  bool overdue = false;
  bool drained = false;
};

Left left_of(const json& drains, const Target& target) {
  Left out;
  const auto add = [&out](const json& drain) {
    const json& sessions = member(drain, "sessions");
    out.drained = true;
    out.sessions += sessions.is_number_unsigned() ? sessions.get<std::uint64_t>() : 0;
    out.overdue = out.overdue || member(drain, "overdue") == json(true);
  };
  if (target.node && member(drains, "node").is_object()) add(member(drains, "node"));
  for (const json& each : member(drains, "servers"))
    if (!target.node && plain(member(each, "server")) == target.server &&
        (target.pool.empty() || plain(member(each, "pool")) == target.pool))
      add(each);
  return out;
}

/// Until no session is left: 0; or a deadline is over: 3; or somebody has ended the drain: 1.
int wait_for_end(Console& console, const Target& target) {
  std::optional<std::uint64_t> last;
  for (;;) {
    const auto drains = console.ask({{"command", "drains"}});
    if (!drains) return 1;
    const Left left = left_of(*drains, target);
    if (!left.drained) return Console::fail("it is no longer drained");
    if (last != left.sessions) {
      Console::print(console.options().json ? json{{"sessions", left.sessions}}.dump() + "\n"
                                            : std::to_string(left.sessions) + " sessions left\n");
      last = left.sessions;
    }
    if (left.sessions == 0) return 0;
    if (left.overdue) {
      Console::fail("the deadline is over");
      return 3;
    }
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace

Command drain_command() {
  const auto target = std::make_shared<Target>();
  const auto deadline = std::make_shared<std::string>();
  return {"drain",
          "a server, or the node, gets no new sessions; its old ones go on",
          "asrpctl drain s2 --deadline 30m --wait",
          [target, deadline](CLI::App& app) {
            add_target(app, target);
            app.add_option("--deadline", *deadline, "by then its sessions should have ended; the log tells if not")
                ->type_name("TIME");
            app.add_flag("--wait", target->wait, "until no session is left; status 3 if the deadline comes first");
          },
          [target, deadline](Console& console) {
            if (!is_whole(*target)) {
              Console::fail("give a SERVER, or --node");
              return 2;
            }
            if (!deadline->empty())
              if (const std::string wrong = read_deadline(*deadline, target->deadline); !wrong.empty()) {
                Console::fail(wrong);
                return 2;
              }
            const json request = request_of("drain", *target);
            if (target->wait) {
              const auto answer = console.ask(request);
              if (!answer) return 1;
              if (!console.options().json) Console::print(warnings_of(*answer));
              return wait_for_end(console, *target);
            }
            return console.show(request, [](const Sample& sample) {
              return done_text(sample.now, "drained", "the node asks for no more flows", " gets no new sessions");
            });
          },
          false};
}

Command undrain_command() {
  const auto target = std::make_shared<Target>();
  return {"undrain",
          "ends a drain",
          "asrpctl undrain s2",
          [target](CLI::App& app) { add_target(app, target); },
          [target](Console& console) {
            if (!is_whole(*target)) {
              Console::fail("give a SERVER, or --node");
              return 2;
            }
            return console.show(request_of("undrain", *target), [](const Sample& sample) {
              return done_text(sample.now, "undrained", "the node asks for flows", " gets new sessions again");
            });
          },
          false};
}

Command drains_command() {
  return {
      "drains", "what is drained, and how many sessions are left there", "asrpctl drains --watch", {}, [](Console& console) {
        return console.show({{"command", "drains"}}, drains_text);
      }};
}

}  // namespace asrp::ctl
