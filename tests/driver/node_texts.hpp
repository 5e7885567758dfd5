// SPDX-License-Identifier: BSD-3-Clause
// A node's configuration and rules, for tests that read them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "asrpd-node/config.hpp"
#include "io/rule_set.hpp"

namespace asrp::test {

inline node::NodeConfig config_of(const std::string& text) {
  config::Problems problems;
  auto config = node::parse_config(text, "n", problems);
  for (const auto& problem : problems.list) FAIL(problem.to_string());
  REQUIRE(config);
  return *config;
}

inline const std::vector<std::string>& rules_of(const io::RuleSet& set, const std::string& table, const std::string& hook) {
  for (const io::Chain& chain : set.chains)
    if (chain.table == table && chain.hook == hook) return chain.rules;
  FAIL("no chain in ", table, " ", hook);
  return set.chains.front().rules;
}

inline std::size_t position(const std::vector<std::string>& rules, const std::string& rule) {
  const auto found = std::find(rules.begin(), rules.end(), rule);
  CHECK_MESSAGE(found != rules.end(), "missing: ", rule);
  return static_cast<std::size_t>(found - rules.begin());
}

inline bool has(const std::vector<std::string>& rules, const std::string& part) {
  return std::any_of(rules.begin(), rules.end(), [&](const std::string& r) { return r.find(part) != std::string::npos; });
}

}  // namespace asrp::test
