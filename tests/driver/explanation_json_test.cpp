// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/commands/explanation_json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using nlohmann::json;

TEST_CASE("an explanation as JSON: what would be done, and every candidate with its reason") {
  auto options = basic_options();
  options.services[0].pool = "farm";
  options.services[0].backends[0].weight = 7;
  NodeScript s(options);
  s.engine.on_server_state(s.now, "farm", "s1", engine::ServerState::down);
  s.engine.on_server_state(s.now, "farm", "s2", engine::ServerState::drained);
  s.engine.on_load(s.now, "farm", "s3", 99);
  const auto told = [&](const Tuple& packet, bool first) {
    return json::parse("{" + node::explanation_members(s.engine.explain(s.now, packet, first)) + "}");
  };
  const Tuple flow = tcp_tuple("203.0.113.7:50000", "198.51.100.1:80");
  json now = told(flow, true);
  CHECK(now["step"] == "create");
  CHECK(now["sentence"] == "It begins a session.");
  CHECK(now["service"] == "web");
  CHECK(now["pool"] == "farm");
  CHECK(now["policy"] == "hash");
  CHECK(now["entry"].is_null());
  CHECK(now["seen_from"] == "203.0.113.7:50000");
  CHECK(now["packet"]["first"] == true);
  std::size_t chosen = 0;
  for (const json& c : now["choices"]) chosen += c["chosen"] == true;
  CHECK(chosen == 1);
  for (const json& c : now["candidates"]) {
    CHECK(c["holder"] == "alive");
    CHECK(c["state"] == (c["server"] == "s1" ? "down" : c["server"] == "s2" ? "drained" : "usable"));
    CHECK(c["load"] == (c["server"] == "s3" ? json(99) : json()));
    CHECK(c["weight"] == (c["server"] == "s1" ? 7 : 1));
    CHECK(c["configured"] == "active");
    CHECK_FALSE(c["reason"].get<std::string>().empty());
  }
  CHECK(now["candidates"].size() >= 2);
  s.flows.add({flow, {flow.src, endpoint("10.0.0.3:8080"), Protocol::tcp}}, engine::FlowMark::waiting);
  now = told(flow, false);
  CHECK(now["step"] == "known");
  CHECK(now["entry"]["mark"] == "waiting");
  CHECK(now["entry"]["closing"] == false);
  now = told(tcp_tuple("203.0.113.7:50000", "198.51.100.9:80"), true);
  CHECK(now["step"] == "no-service");
  CHECK(now["service"].is_null());
}
