// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/config_diff.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "config/diff.hpp"
#include "support/builders.hpp"

using namespace asrp;
using node::pool_move;
using node::pool_moves;

namespace {

policy::Epoch epoch(const std::map<std::string, std::uint32_t>& weights, std::uint8_t key = 1) {
  policy::Epoch out;
  out.key[0] = key;
  for (const auto& [id, weight] : weights) out.members.push_back({id, weight});
  return out;
}

bool wanted_to_the_end() { return false; }

std::vector<std::string> lines(const std::vector<config::Change>& changes) {
  std::vector<std::string> out;
  for (const config::Change& each : changes)
    out.push_back(std::string(to_string(each.kind)) + " " + each.key + " " + each.before + " > " + each.after);
  return out;
}

constexpr const char* kBefore = R"([node]
port = 1
names = ["a", "b"]
[keys]
placement_key = "00112233445566778899aabbccddeeff"
[[keys.cookie_keys]]
key = "101112131415161718191a1b1c1d1e1f"
use = "sign"
[[pools]]
name = "web"
[[pools.servers]]
id = "s1"
weight = 1
[[pools.servers]]
id = "s2"
weight = 1
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("config diff: equal configurations differ by nothing") { CHECK(config::diff(kBefore, kBefore).empty()); }

TEST_CASE("config diff: keys that change, come and go; items of lists by their name, wherever they stand") {
  std::string after = replaced(kBefore, "port = 1\n", "port = 2\nmore = true\n");
  after = replaced(after, "[\"a\", \"b\"]", "[\"a\"]");
  after = replaced(after, "[[pools.servers]]\nid = \"s1\"\nweight = 1\n", "[[pools.servers]]\nid = \"s0\"\nweight = 1\n");
  after += "[[pools.servers]]\nid = \"s1\"\nweight = 7\n";
  after = replaced(after, "[[pools.servers]]\nid = \"s2\"\nweight = 1\n", "");
  CHECK(lines(config::diff(kBefore, after)) ==
        std::vector<std::string>{"added node.more  > true", "changed node.names [\"a\", \"b\"] > [\"a\"]",
                                 "changed node.port 1 > 2", "added pools.web.servers.s0  > ",
                                 "changed pools.web.servers.s1.weight 1 > 7", "removed pools.web.servers.s2  > "});
}

TEST_CASE("config diff: of keys nothing is told but that they change") {
  std::string after = replaced(kBefore, "00112233445566778899aabbccddeeff", "ff112233445566778899aabbccddeeff");
  after += "[[keys.cookie_keys]]\nkey = \"202122232425262728292a2b2c2d2e2f\"\nuse = \"accept\"\n";
  const auto changes = config::diff(kBefore, after);
  CHECK(lines(changes) ==
        std::vector<std::string>{"added keys.cookie_keys.2  > ", "changed keys.placement_key (secret) > (secret)"});
  const auto other = config::diff(kBefore, replaced(kBefore, "key = \"1011", "key = \"ff11"));
  CHECK(lines(other) == std::vector<std::string>{"changed keys.cookie_keys.1.key (secret) > (secret)"});
}

TEST_CASE("pool move: a new server takes its share, and no other session moves") {
  const auto move =
      pool_move(epoch({{"a", 1}, {"b", 1}, {"c", 2}}), epoch({{"a", 1}, {"b", 1}, {"c", 2}, {"d", 1}}), wanted_to_the_end);
  REQUIRE(move);
  CHECK(move->counted);
  CHECK(move->minimum == doctest::Approx(0.2));
  CHECK(move->moved == doctest::Approx(0.2).epsilon(0.05));
}

TEST_CASE("pool move: leave and weights; none at all; all") {
  const auto leave = pool_move(epoch({{"a", 3}, {"b", 1}}), epoch({{"a", 3}}), wanted_to_the_end);
  CHECK(leave->minimum == doctest::Approx(0.25));
  CHECK(leave->moved == doctest::Approx(0.25).epsilon(0.05));
  const auto weight = pool_move(epoch({{"a", 1}, {"b", 1}}), epoch({{"a", 3}, {"b", 1}}), wanted_to_the_end);
  CHECK(weight->minimum == doctest::Approx(0.25));
  CHECK(weight->moved == doctest::Approx(0.25).epsilon(0.05));
  const auto drained = pool_move(epoch({{"a", 1}, {"b", 0}}), epoch({{"a", 1}}), wanted_to_the_end);
  CHECK(drained->minimum == 0);
  CHECK(drained->moved == 0);
  const auto all = pool_move(epoch({{"a", 1}}), epoch({{"b", 1}}), wanted_to_the_end);
  CHECK(all->minimum == 1);
  CHECK(all->moved == 1);
  const auto from_none = pool_move(epoch({}), epoch({{"b", 1}}), wanted_to_the_end);
  CHECK(from_none->moved == 0);
  CHECK(pool_move(epoch({{"a", 1}}), epoch({}), wanted_to_the_end)->moved == 1);
}

TEST_CASE("pool move: with another placement key every flow has another row") {
  const auto move = pool_move(epoch({{"a", 1}, {"b", 1}}), epoch({{"a", 1}, {"b", 1}}, 2), wanted_to_the_end);
  CHECK(!move->counted);
  CHECK(move->minimum == 0);
  CHECK(move->moved == doctest::Approx(0.5));
}

TEST_CASE("pool move: those of a lower priority have no first ranks") {
  policy::Epoch before = epoch({{"a", 1}, {"b", 1}, {"c", 5}});
  before.members[0].priority = before.members[1].priority = 1;
  policy::Epoch after = before;
  after.members.pop_back();
  const auto move = pool_move(before, after, wanted_to_the_end);
  CHECK(move->minimum == 0);
  CHECK(move->moved == 0);
  policy::Epoch one = before;
  one.members.erase(one.members.begin());
  const auto half = pool_move(before, one, wanted_to_the_end);
  CHECK(half->minimum == doctest::Approx(0.5));
  CHECK(half->moved == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("pool move: ends when nobody wants it any more") {
  int asked = 0;
  CHECK(!pool_move(epoch({{"a", 1}}), epoch({{"b", 1}}), [&asked] { return ++asked == 3; }));
  CHECK(asked == 3);
}

TEST_CASE("pool moves: pools whose epoch is another one, by name; a new pool moves nothing") {
  node::NodeConfig now;
  now.placement_key.value[0] = 1;
  const auto server = [](const char* id, std::uint32_t weight) {
    engine::Backend out;
    out.id = id;
    out.weight = weight;
    return out;
  };
  for (const char* name : {"same", "changed"}) {
    node::PoolConfig pool;
    pool.name = name;
    pool.servers = {server("a", 1), server("b", 1)};
    now.pools.push_back(pool);
  }
  node::NodeConfig next = now;
  std::swap(next.pools[0], next.pools[1]);
  next.pools[0].servers.push_back(server("c", 2));
  std::swap(next.pools[1].servers[0], next.pools[1].servers[1]);  // the order means nothing
  next.pools[1].servers[0].address.port = 99;                     // nor does the address
  node::PoolConfig fresh = now.pools[0];
  fresh.name = "new";
  next.pools.push_back(fresh);
  const auto moves = pool_moves(now, next, wanted_to_the_end);
  REQUIRE(moves.size() == 1);
  CHECK(moves[0].pool == "changed");
  CHECK(moves[0].minimum == doctest::Approx(0.5));
}
