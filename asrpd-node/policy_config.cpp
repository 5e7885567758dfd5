// SPDX-License-Identifier: GPL-2.0-or-later
#include "asrpd-node/policy_config.hpp"

#include <algorithm>
#include <string>

namespace asrp::node {

using config::Reader;
using config::Writer;
using engine::AllDown;
using engine::Backend;
using policy::SelectionPolicy;

namespace {

constexpr std::size_t kChoices = 3;  // docs/policies.md says why
constexpr std::int64_t kMost32 = 0xffffffff;

bool goes_by_degradation(SelectionPolicy policy) {
  return policy == SelectionPolicy::least_used_degradation || policy == SelectionPolicy::priority_least_used;
}

}  // namespace

PolicyConfig read_policy(Reader& pool) {
  PolicyConfig out;
  std::vector<std::pair<std::string_view, SelectionPolicy>> names;
  for (std::uint8_t i = 0; i < policy::kSelectionPolicyCount; ++i)
    names.emplace_back(policy::to_string(static_cast<SelectionPolicy>(i)), static_cast<SelectionPolicy>(i));
  pool.choice("policy", out.policy, names);
  const bool hash = out.policy == SelectionPolicy::hash;
  if (!hash) out.ranks = kChoices;
  pool.integer(hash ? "ranks" : "choices", out.ranks, 1, 8);
  const char* other = hash ? "choices" : "ranks";
  if (std::size_t unused = 0; pool.has(other)) {
    pool.integer(other, unused, 1, 8);
    pool.problem(other,
                 hash ? "is for the policies that choose among several servers; with policy = \"hash\" it is ranks"
                      : "is for policy = \"hash\"; with \"" + std::string(policy::to_string(out.policy)) + "\" it is choices");
  }
  pool.choice<AllDown>("all_down", out.all_down, {{"first", AllDown::first}, {"drop", AllDown::drop}});
  return out;
}

void read_server_policy(Reader& server, Backend& out) {
  server.integer("weight", out.weight, 0, kMostWeight);
  server.integer("priority", out.priority, 0, kMost32);
  server.integer("degradation", out.degradation, 0, kMost32);
}

void check_policy(const PolicyConfig& policy, const std::vector<Backend>& servers, Reader& place) {
  const std::string name = "policy \"" + std::string(policy::to_string(policy.policy)) + "\"";
  const auto any = [&](auto has) { return std::any_of(servers.begin(), servers.end(), has); };
  if (!policy::goes_by_weight(policy.policy) && any([](const Backend& s) { return s.weight > 1; }))
    place.warning("servers", name + " doesn't go by weights: all above 0 mean the same");
  if (policy.policy != SelectionPolicy::priority && any([](const Backend& s) { return s.priority != 0; }))
    place.warning("servers", name + " doesn't go by priorities: policy \"priority\" does");
  const bool any_degradation = any([](const Backend& s) { return s.degradation != 0; });
  if (!goes_by_degradation(policy.policy) && any_degradation)
    place.warning("servers", name + " doesn't go by degradations: \"least-used-degradation\" and \"priority-least-used\" do");
  if (goes_by_degradation(policy.policy) && !any_degradation && !servers.empty())
    place.warning("servers", "no server has a degradation: " + name + " is the same as \"least-used\" then");
}

void write_policy(Writer& out, const PolicyConfig& policy) {
  out.text("policy", policy::to_string(policy.policy));
  out.integer(policy.policy == SelectionPolicy::hash ? "ranks" : "choices", static_cast<std::int64_t>(policy.ranks));
  out.text("all_down", policy.all_down == AllDown::first ? "first" : "drop");
}

void write_server_policy(Writer& out, const Backend& server) {
  out.integer("weight", server.weight);
  out.integer("priority", server.priority);
  out.integer("degradation", server.degradation);
}

}  // namespace asrp::node
