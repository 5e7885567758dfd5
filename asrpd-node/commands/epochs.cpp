// SPDX-License-Identifier: GPL-2.0-or-later
// `epochs`, `epochs_export`: the pools as they are and were, for people to compare, and for another node to take over.
#include <algorithm>

#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/status.hpp"
#include "runtime/line_thread.hpp"
#include "runtime/log.hpp"

namespace asrp::node {
namespace {

using runtime::ControlAnswer;
using runtime::ControlArgument;
using runtime::ControlRequest;
using runtime::json_quoted;

/// An epoch as it is listed.
struct Listed {
  std::string pool;
  std::size_t number;  // 0: today's; 1: the one before it
  policy::Epoch epoch;
  std::optional<BeginTime> began;  // none: the configuration says that there was one
};

void add_epochs(const NodeConfig& config, const PoolConfig& pool, const PoolState& kept, std::vector<Listed>& out) {
  out.push_back({pool.name, 0, kept.current, kept.began});
  std::vector<policy::Epoch> past;
  for (const PastEpoch& each : kept.past) past.push_back(each.epoch);
  add_configured_epochs(config, pool, past);
  for (std::size_t i = 0; i < past.size(); ++i) {
    const auto known = std::find_if(kept.past.begin(), kept.past.end(), [&](const PastEpoch& p) { return p.epoch == past[i]; });
    out.push_back({pool.name, i + 1, past[i], known != kept.past.end() ? std::optional(known->began) : std::nullopt});
  }
}

std::string object_of(const Listed& each) {
  return "{\"pool\":" + json_quoted(each.pool) + ",\"epoch\":" + std::to_string(each.number) +
         ",\"began\":" + (each.began ? std::to_string(*each.began) : "null") +
         ",\"servers\":" + std::to_string(each.epoch.members.size()) + ",\"digest\":\"" + epoch_digest(each.epoch) + "\"}";
}

/// The pools that are asked for: one, or all. None, and refused, if there is no such pool.
std::optional<State> asked_for(const NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  const auto name = request.text("pool");
  if (!name) return node.state();
  for (const PoolState& pool : node.state())
    if (pool.pool == *name) return State{pool};
  answer.refuse("there is no pool \"" + *name + "\"", "\"kind\":\"argument\"");
  return std::nullopt;
}

void list(NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  const auto kept = asked_for(node, request, answer);
  if (!kept) return;
  std::vector<Listed> all;
  for (const PoolState& each : *kept)
    if (const PoolConfig* pool = node.config().pool(each.pool)) add_epochs(node.config(), *pool, each, all);
  // Digests of a hundred thousand servers take a while.
  auto make = [all = std::move(all)](runtime::LineSink& sink) {
    for (const Listed& each : all)
      if (!sink.put(object_of(each))) return;
    sink.end_with("\"epochs\":" + std::to_string(all.size()));
  };
  answer.stream("", runtime::lines_of_thread(node.event_loop(), std::move(make), {}));
}

/// In parts, for it is one line of JSON that may be long.
void export_state(NodeAccess& node, const ControlRequest& request, const ControlAnswer& answer) {
  auto kept = asked_for(node, request, answer);
  if (!kept) return;
  auto make = [kept = std::move(*kept)](runtime::LineSink& sink) {
    constexpr std::size_t kPart = 16384;
    const std::string text = state_json(kept);
    for (std::size_t at = 0; at < text.size(); at += kPart)
      if (!sink.put("{\"part\":" + json_quoted(std::string_view(text).substr(at, kPart)) + "}")) return;
    sink.end_with("\"octets\":" + std::to_string(text.size()));
  };
  answer.stream("", runtime::lines_of_thread(node.event_loop(), std::move(make), {}));
}

}  // namespace

runtime::ControlCommand epochs_command(NodeAccess& node) {
  return {"epochs",
          {{"pool", ControlArgument::Kind::text}},
          [&node](const ControlRequest& request, const ControlAnswer& answer) { list(node, request, answer); }};
}

runtime::ControlCommand epochs_export_command(NodeAccess& node) {
  return {"epochs_export",
          {{"pool", ControlArgument::Kind::text}},
          [&node](const ControlRequest& request, const ControlAnswer& answer) { export_state(node, request, answer); }};
}

}  // namespace asrp::node
