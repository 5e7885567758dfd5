// SPDX-License-Identifier: BSD-3-Clause
// Nodes with different histories: what they know of former pools, given to each other, makes their candidates the same
// (decision 11), and the digest tells whether they are (decision 28).
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "asrpd-node/state.hpp"
#include "asrpd-node/status.hpp"
#include "engine/node_config.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using node::BeginTime;
using node::State;
using test::SeededRandom;

namespace {

constexpr std::size_t kFlows = 100000;

struct Server {
  int number;
  unsigned weight = 1;
  bool joining = false;
};
/// One step in the life of a pool.
struct Step {
  std::vector<Server> servers;
  std::string key = "000102030405060708090a0b0c0d0e0f";
};

/// `past`: newest first. `random`: shuffles the servers in the file.
node::NodeConfig config_of(const Step& step, SeededRandom& random, const std::vector<Step>& past = {}) {
  std::string text = "[node]\nlocal_ips = [\"10.0.1.1\"]\n[keys]\nplacement_key = \"" + step.key +
                     "\"\ncookie_keys = [{ key = \"101112131415161718191a1b1c1d1e1f\", use = \"sign\" }]\n"
                     "[[pools]]\nname = \"web\"\npolicy = \"weighted-round-robin\"\n";
  const auto shuffled = [&](std::vector<Server> servers) {
    for (std::size_t i = servers.size(); i > 1; --i) std::swap(servers[i - 1], servers[random.below(i)]);
    return servers;
  };
  for (const Server& s : shuffled(step.servers)) {
    text += "[[pools.servers]]\nid = \"s" + std::to_string(s.number) + "\"\naddress = \"10.0.2." + std::to_string(s.number) +
            ":80\"\nweight = " + std::to_string(s.weight) + "\n" + (s.joining ? "state = \"joining\"\n" : "");
  }
  for (const Step& each : past) {
    text += "[[pools.past_epochs]]\nplacement_key = \"" + each.key + "\"\nmembers = [";
    for (const Server& s : shuffled(each.servers)) {
      if (!s.joining) text += "{ id = \"s" + std::to_string(s.number) + "\", weight = " + std::to_string(s.weight) + " },";
    }
    text += "]\n";
  }
  text += "[[services]]\nname = \"web\"\naddress = \"192.0.2.1:80\"\nprotocol = \"tcp\"\npool = \"web\"\n";
  config::Problems problems;
  auto config = node::parse_config(text, "s", problems);
  for (const auto& problem : problems.list) MESSAGE(problem.to_string());
  REQUIRE(config);
  return *config;
}

const std::vector<Step>& history() {
  static const std::string kOther = "202122232425262728292a2b2c2d2e2f";
  static const std::vector<Step> kSteps = {
      {{{1}, {2}, {3}, {4}}},
      {{{1}, {2}, {3}, {4}, {5, 2, true}}},  // no new epoch: joining
      {{{1}, {2}, {3}, {4}, {5, 2}}},
      {{{1}, {2, 0}, {3}, {4}, {5, 2}}},
      {{{1}, {3}, {4}, {5, 2}}},
      {{{1}, {3}, {4}, {5, 2}}, kOther},
      {{{1}, {3}, {4}, {5, 2}, {6, 3}, {7}}, kOther},
      {{{1}, {3}, {4, 4}, {5, 2}, {6, 3}, {7}}, kOther},
      {{{1}, {3}, {4, 4}, {6, 3}, {7}, {8, 1, true}}, kOther},
  };
  return kSteps;
}

/// What a node has at the end: as its daemon does it, state from reload to reload and from file to file.
struct Node {
  State state;
  void reload(const node::NodeConfig& config, BeginTime now) { state = node::next_state(state, config, now); }
  void restart() { state = *node::parse_state(node::state_json(state)); }
  void give(const Node& other, const node::NodeConfig& config, BeginTime now) {
    state = node::next_state(node::merged_state(state, *node::parse_state(node::state_json(other.state))), config, now);
  }
  [[nodiscard]] engine::NodeOptions options(const node::NodeConfig& config) const {
    return node::to_options(config, node::history_of(state));
  }
};

Tuple flow(std::uint32_t n) {
  return {{IpAddress::v4(0xcb007100u + n / 60000), static_cast<std::uint16_t>(1024 + n % 60000)},
          *Endpoint::parse("192.0.2.1:80"),
          Protocol::tcp};
}

/// The candidates of each flow by name: nodes may number their servers differently.
std::vector<std::string> candidates(engine::NodeOptions options, std::size_t flows) {
  const engine::NodeConfig config(std::move(options));
  const engine::ServiceState& service = config.service(0);
  std::vector<std::string> all;
  for (std::uint32_t n = 0; n < flows; ++n) {
    const policy::QueryList list = service.pool.query(flow(n));
    std::string text = std::to_string(list.first_round) + (list.cut ? " cut" : "");
    for (std::size_t i = 0; i < list.count; ++i) text += " " + service.options->backends[list.servers[i]].id;
    all.push_back(std::move(text));
  }
  return all;
}

}  // namespace

TEST_CASE(
    "three nodes with different uptimes and restart histories have the same candidates for 100 000 flows [spec 3.5.3-1]") {
  const std::vector<Step>& steps = history();
  SeededRandom random(5);
  Node steady;    // up all the time
  Node restarts;  // restarts often, and its clock is behind
  Node away;      // down during some changes; then given another's file
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto now = static_cast<BeginTime>(1'800'000'000'000 + 60'000 * static_cast<BeginTime>(i));
    steady.reload(config_of(steps[i], random), now);
    restarts.restart();
    restarts.reload(config_of(steps[i], random), now - 7'000);
    restarts.restart();
    restarts.reload(config_of(steps[i], random), now - 6'000);
    if (i != 2 && i != 3 && i != 6) away.reload(config_of(steps[i], random), now + 3'000);
  }
  const BeginTime end = 1'800'001'000'000;
  const auto config = config_of(steps.back(), random);
  CHECK(node::placement_digest(away.options(config)) != node::placement_digest(steady.options(config)));
  away.give(steady, config, end);
  const auto expected = candidates(steady.options(config), kFlows);
  CHECK(candidates(restarts.options(config_of(steps.back(), random)), kFlows) == expected);
  CHECK(candidates(away.options(config_of(steps.back(), random)), kFlows) == expected);

  // A fourth one is new and has former pools from its configuration; a fifth has half of them from its own past.
  std::vector<Step> past;
  for (std::size_t i = steps.size() - 1; i-- > 0;) past.push_back(steps[i]);
  const auto with_past = config_of(steps.back(), random, past);
  Node fresh;
  fresh.reload(with_past, end);
  CHECK(candidates(fresh.options(with_past), kFlows) == expected);
  Node late;
  for (std::size_t i = 4; i < steps.size(); ++i) late.reload(config_of(steps[i], random), end + static_cast<BeginTime>(i));
  CHECK(candidates(late.options(with_past), kFlows) == expected);

  const std::string digest = node::placement_digest(steady.options(config));
  for (const Node* each : {&restarts, &away}) CHECK(node::placement_digest(each->options(config)) == digest);
  for (const Node* each : {&fresh, &late}) CHECK(node::placement_digest(each->options(with_past)) == digest);
}

TEST_CASE("nodes whose digests agree have the same candidates, and those whose candidates differ have other digests") {
  SeededRandom random(6);
  std::vector<std::pair<std::string, std::vector<std::string>>> seen;
  for (int run = 0; run < 40; ++run) {
    Node node;
    BeginTime now = 1'800'000'000'000;
    const std::vector<Step>& steps = history();
    for (const Step& step : steps) {
      if (random.below(3) != 0) node.reload(config_of(step, random), now);
      now += 60'000;
    }
    const auto config = config_of(steps.back(), random);
    node.reload(config, now);
    seen.emplace_back(node::placement_digest(node.options(config)), candidates(node.options(config), 500));
  }
  std::size_t agree = 0;
  std::size_t differ = 0;
  for (const auto& a : seen) {
    for (const auto& b : seen) {
      if (a.first == b.first) CHECK(a.second == b.second);
      if (a.second != b.second) CHECK(a.first != b.first);
      ++(a.second == b.second ? agree : differ);
    }
  }
  CHECK(agree > seen.size());
  CHECK(differ > 0);
}

TEST_CASE("a server that another node is about to rank is in the digest: it is asked there") {
  SeededRandom random(7);
  const Node node;
  const Step without{{{1}, {2}}};
  const Step joining{{{1}, {2}, {3, 1, true}}};
  const auto digest = [&](const Step& step) { return node::placement_digest(node.options(config_of(step, random))); };
  CHECK(digest(without) == digest(without));
  CHECK(digest(without) != digest(joining));
  CHECK(digest(joining) != digest({{{1}, {2}, {3, 1, false}}}));
}

TEST_CASE("whoever is told of whose epochs, and in what order: all know the same in the end") {
  SeededRandom random(8);
  const std::vector<Step>& steps = history();
  std::vector<Node> nodes(4);
  const auto last = config_of(steps.back(), random);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto now = static_cast<BeginTime>(1'800'000'000'000 + 60'000 * i + 1'000 * n);
      if (random.below(2) == 0 || i + 1 == steps.size()) nodes[n].reload(config_of(steps[i], random), now);
    }
  }
  const BeginTime end = 1'800'001'000'000;
  std::vector<State> results;
  for (int run = 0; run < 12; ++run) {
    std::vector<Node> each = nodes;
    std::vector<std::size_t> order = {0, 1, 2, 3};
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    for (std::size_t i = 1; i < order.size(); ++i) each[order[0]].give(each[order[i]], last, end);
    each[order[0]].give(each[order[1]], last, end + 1);  // once more changes nothing
    results.push_back(each[order[0]].state);
  }
  for (const State& state : results) CHECK(state == results[0]);
}

TEST_CASE("epochs of one instant that differ in the key alone have one order, too") {
  const auto knows = [](std::uint8_t former) {
    const auto epoch = [](std::uint8_t key) { return policy::Epoch{{{"s1", 1}}, HashKey{key}}; };
    return State{{"web", epoch(9), 5000, {{epoch(former), 4000}}}};
  };
  const State one = node::merged_state(knows(1), knows(2));
  CHECK(one[0].past.size() == 2);
  CHECK(one == node::merged_state(knows(2), knows(1)));
}

TEST_CASE("an epoch that came back stands where it was last, also for a node that had gone by then") {
  SeededRandom random(11);
  const Step a{{{1}, {2}}};
  const Step b{{{1}, {2}, {3}}};
  const Step c{{{1}, {2}, {3}, {4}}};
  const Step d{{{1}, {2}, {3}, {4}, {5}}};
  Node steady;
  Node gone;
  BeginTime now = 1'800'000'000'000;
  for (const Step& step : {a, b, a, c, d}) {
    now += 60'000;
    steady.reload(config_of(step, random), now);
    if (gone.state.empty() || gone.state[0].past.empty()) gone.reload(config_of(step, random), now + 2'000);
  }
  REQUIRE(steady.state[0].past.size() == 3);
  CHECK(steady.state[0].past[1].epoch.members.size() == 2);  // c, a, b
  gone.give(steady, config_of(d, random), now + 600'000);
  CHECK(node::history_of(gone.state)[0].past == node::history_of(steady.state)[0].past);
}

TEST_CASE("a file of a version without times and priorities keeps its order") {
  const auto state = node::parse_state(
      R"({"version":1,"pools":[{"pool":"web","current":{"key":"000102030405060708090a0b0c0d0e0f","members":[]},"past":[
          {"key":"000102030405060708090a0b0c0d0e0f","members":[{"id":"new","weight":1}]},
          {"key":"000102030405060708090a0b0c0d0e0f","members":[{"id":"old","weight":1}]}]}]})");
  REQUIRE(state);
  const State again = *node::parse_state(node::state_json(node::merged_state(*state, *state)));
  REQUIRE(again[0].past.size() == 2);
  CHECK(again[0].past[0].epoch.members[0].id == "new");
  CHECK(again[0].past[0].began > again[0].past[1].began);
}

TEST_CASE("a clock that goes back makes no epoch older than one before it") {
  SeededRandom random(9);
  Node node;
  node.reload(config_of({{{1}}}, random), 5000);
  node.reload(config_of({{{1}, {2}}}, random), 6000);
  node.reload(config_of({{{1}, {2}, {3}}}, random), 100);
  REQUIRE(node.state[0].past.size() == 2);
  CHECK(node.state[0].past[0].epoch.members.size() == 2);
  CHECK(node.state[0].past[1].epoch.members.size() == 1);
}

TEST_CASE("a file that was given is read once; a damaged one is put aside") {
  std::string name = (std::filesystem::temp_directory_path() / "asrp-given-XXXXXX").string();
  REQUIRE(mkdtemp(name.data()) != nullptr);
  const std::filesystem::path folder = name;
  SeededRandom random(10);
  Node node;
  node.reload(config_of({{{1}}}, random), 1000);
  std::string trouble;
  CHECK_FALSE(node::load_given_state(name, trouble));
  std::ofstream(folder / "epochs.given.json") << node::state_json(node.state);
  CHECK(node::load_given_state(name, trouble) == node.state);
  node::remove_given_state(name);
  CHECK_FALSE(node::load_given_state(name, trouble));
  CHECK(trouble.empty());
  std::ofstream(folder / "epochs.given.json") << "{";
  CHECK_FALSE(node::load_given_state(name, trouble));
  CHECK(trouble.find("epochs.given.json is damaged") != std::string::npos);
  CHECK(std::filesystem::exists(folder / "epochs.given.json.unreadable"));
  std::filesystem::remove_all(folder);
}
