// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/commands/explanation_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "asrpd-node/config.hpp"

namespace asrp::node {
namespace {

using engine::Explanation;
using nlohmann::json;

std::string_view name_of(engine::ServerState state) {
  switch (state) {
    case engine::ServerState::usable:
      return "usable";
    case engine::ServerState::drained:
      return "drained";
    case engine::ServerState::down:
      return "down";
  }
  return "";
}

std::string_view holder_of(const Explanation::Candidate& c) {
  if (c.holder == engine::HolderPresence::no) return "none";
  if (c.holder_gone) return "gone";
  return c.holder_answered ? "alive" : "unknown";
}

std::string_view name_of(engine::FlowMark mark) {
  switch (mark) {
    case engine::FlowMark::none:
      return "none";
    case engine::FlowMark::waiting:
      return "waiting";
    case engine::FlowMark::unprotected:
      return "unprotected";
  }
  return "";
}

json object_of(const Explanation::Candidate& c) {
  return {{"server", c.server},
          {"address", c.address.to_string()},
          {"weight", c.weight},
          {"priority", c.priority},
          {"configured", node::name_of(c.configured)},
          {"state", name_of(c.state)},
          {"holder", holder_of(c)},
          {"load", c.load ? json(*c.load) : json()},
          {"epoch", c.epoch},
          {"coming", c.coming},
          {"rank", c.rank},
          {"round", c.round},
          {"chosen", c.is_chosen},
          {"reason", c.reason}};
}

json list_of(const std::vector<Explanation::Candidate>& candidates) {
  json list = json::array();
  for (const Explanation::Candidate& each : candidates) list.push_back(object_of(each));
  return list;
}

bool is_in_flight(const Explanation& e) {
  return e.step == engine::Step::join_install || e.step == engine::Step::join_recovery || e.step == engine::Step::send_behind;
}

/// Who would get the session; empty if nobody would, or chance decides.
std::string chosen_of(const Explanation& e) {
  const auto chosen = std::find_if(e.choices.begin(), e.choices.end(), [](const auto& c) { return c.is_chosen; });
  return chosen == e.choices.end() ? "" : chosen->server;
}

}  // namespace

std::string joint_explanation_members(const std::vector<Explanation>& of_workers) {
  const auto in_flight = std::find_if(of_workers.begin(), of_workers.end(), is_in_flight);
  const Explanation& told = in_flight != of_workers.end() ? *in_flight : of_workers.front();
  const bool differ =
      in_flight == of_workers.end() && std::any_of(of_workers.begin(), of_workers.end(), [&](const Explanation& each) {
        return each.step != told.step || chosen_of(each) != chosen_of(told);
      });
  json by_worker = json::array();
  for (std::size_t i = 0; differ && i < of_workers.size(); ++i) {
    const std::string server = chosen_of(of_workers[i]);
    by_worker.push_back({{"worker", i + 1},
                         {"step", engine::to_string(of_workers[i].step)},
                         {"sentence", engine::sentence(of_workers[i].step)},
                         {"server", server.empty() ? json() : json(server)}});
  }
  return explanation_members(told) + ",\"workers\":" + std::to_string(of_workers.size()) + ",\"by_worker\":" + by_worker.dump();
}

std::string explanation_members(const Explanation& e) {
  json out = {{"packet",
               {{"protocol", to_string(e.packet.protocol)},
                {"source", e.packet.src.to_string()},
                {"destination", e.packet.dst.to_string()},
                {"first", e.begins}}},
              {"step", engine::to_string(e.step)},
              {"sentence", engine::sentence(e.step)},
              {"service", e.service.empty() ? json() : json(e.service)},
              {"pool", e.service.empty() ? json() : json(e.pool)},
              {"policy", policy::to_string(e.policy)},
              {"by_chance", e.by_chance},
              {"owner_changed", e.owner_changed},
              {"outside_list", e.outside_list},
              {"all_down", e.all_down},
              {"list_cut", e.list_cut},
              {"entry", json()},
              {"client", json()},
              {"seen_from", e.mapping ? json(e.mapping->to_string()) : json()},
              {"choices", list_of(e.choices)},
              {"candidates", list_of(e.candidates)}};
  if (e.client) {
    const auto& range = e.client->range;
    out["client"] = {{"address", e.client->address.to_string()},
                     {"outside", range ? json(range->outside.to_string()) : json()},
                     {"first_port", range ? json(range->first_port) : json()},
                     {"last_port", range ? json(range->last_port) : json()},
                     {"holder", e.client->has_no_holder ? "gone" : "unknown"}};
  }
  if (e.entry) {
    out["entry"] = {{"client_side", e.entry->tuples.client_side.to_string()},
                    {"server_side", e.entry->tuples.server_side.to_string()},
                    {"mark", name_of(e.entry->mark)},
                    {"closing", e.entry->closing}};
  }
  const std::string text = out.dump();
  return text.substr(1, text.size() - 2);
}

}  // namespace asrp::node
