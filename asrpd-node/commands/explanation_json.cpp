// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/commands/explanation_json.hpp"

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

}  // namespace

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
              {"seen_from", e.mapping ? json(e.mapping->to_string()) : json()},
              {"choices", list_of(e.choices)},
              {"candidates", list_of(e.candidates)}};
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
