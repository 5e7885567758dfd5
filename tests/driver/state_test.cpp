// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/state.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "asrp/policy/epoch_bounds.hpp"
#include "asrpd-node/status.hpp"
#include "runtime/files.hpp"

using namespace asrp;
using node::State;

namespace {

struct Pool {
  std::vector<policy::EpochMember> servers;
  std::string key = "000102030405060708090a0b0c0d0e0f";
};

node::NodeConfig config_of(const Pool& pool) {
  std::string text =
      "[node]\nlocal_ips = [\"10.0.1.1\"]\n[keys]\nplacement_key = \"" + pool.key +
      "\"\ncookie_keys = [{ key = \"101112131415161718191a1b1c1d1e1f\", use = \"sign\" }]\n[[pools]]\nname = \"web\"\n";
  for (std::size_t i = 0; i < pool.servers.size(); ++i) {
    text += "[[pools.servers]]\nid = \"" + pool.servers[i].id + "\"\naddress = \"10.0.2." + std::to_string(i + 1) +
            ":80\"\nweight = " + std::to_string(pool.servers[i].weight) + "\n";
  }
  text += "[[services]]\nname = \"web\"\naddress = \"192.0.2.1:80\"\nprotocol = \"tcp\"\npool = \"web\"\n";
  config::Problems problems;
  auto config = node::parse_config(text, "s", problems);
  for (const auto& problem : problems.list) MESSAGE(problem.to_string());
  REQUIRE(config);
  return *config;
}

/// Each change comes a second after the one before.
State next_state(const State& before, const node::NodeConfig& config) {
  static node::BeginTime now = 0;
  return node::next_state(before, config, now += 1000);
}

using Members = std::vector<policy::EpochMember>;

/// A folder that ends with the test.
struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / "asrp-state-XXXXXX") {
    std::string name = path.string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("join, leave, weight and key each begin an epoch; the former one is the newest past epoch (decision 11)") {
  const State first = next_state({}, config_of({{{"s1", 1}, {"s2", 1}}}));
  REQUIRE(first.size() == 1);
  CHECK(first[0].past.empty());
  CHECK(next_state(first, config_of({{{"s1", 1}, {"s2", 1}}})) == first);

  const State joined = next_state(first, config_of({{{"s1", 1}, {"s2", 1}, {"s3", 1}}}));
  REQUIRE(joined[0].past.size() == 1);
  CHECK(joined[0].past[0].epoch.members == Members{{"s1", 1}, {"s2", 1}});

  const State weighted = next_state(joined, config_of({{{"s1", 5}, {"s2", 1}, {"s3", 1}}}));
  REQUIRE(weighted[0].past.size() == 2);
  CHECK(weighted[0].past[0].epoch.members == Members{{"s1", 1}, {"s2", 1}, {"s3", 1}});

  const State rekeyed =
      next_state(weighted, config_of({{{"s1", 5}, {"s2", 1}, {"s3", 1}}, "202122232425262728292a2b2c2d2e2f"}));
  REQUIRE(rekeyed[0].past.size() == 3);
  CHECK(to_hex(rekeyed[0].past[0].epoch.key) == "000102030405060708090a0b0c0d0e0f");

  const State left = next_state(rekeyed, config_of({{{"s1", 5}, {"s2", 1}}, "202122232425262728292a2b2c2d2e2f"}));
  CHECK(left[0].past.size() == 4);
}

TEST_CASE("the order of servers in the file is no change") {
  const State first = next_state({}, config_of({{{"s1", 1}, {"s2", 2}}}));
  const State again = next_state(first, config_of({{{"s2", 2}, {"s1", 1}}}));
  CHECK(again[0].past.empty());
}

TEST_CASE("a policy begins an epoch only where placement goes by something else then") {
  const auto with = [](std::string policy) {
    node::NodeConfig config = config_of({{{"s1", 1}, {"s2", 3}}});
    config.pools[0].policy.policy = *policy::selection_policy(policy);
    config.pools[0].servers[0].priority = 9;
    return config;
  };
  State state = next_state({}, with("hash"));
  CHECK(state[0].current.members == Members{{"s1", 1}, {"s2", 3}});
  state = next_state(state, with("weighted-random"));
  CHECK(state[0].past.empty());
  state = next_state(state, with("random"));
  REQUIRE(state[0].past.size() == 1);
  CHECK(state[0].current.members == Members{{"s1", 1}, {"s2", 1}});
  state = next_state(state, with("least-used"));
  CHECK(state[0].past.size() == 1);
  state = next_state(state, with("priority"));
  CHECK(state[0].past.size() == 2);
  CHECK(state[0].current.members == Members{{"s1", 1, 9}, {"s2", 1}});
  CHECK(*node::parse_state(node::state_json(state)) == state);
  const auto digest = [&](const std::string& policy) { return node::placement_digest(node::to_options(with(policy), {})); };
  CHECK(digest("random") == digest("round-robin"));
  CHECK(digest("random") != digest("priority"));
  CHECK(digest("weighted-round-robin") == digest("weighted-random"));
  CHECK(digest("random") != digest("weighted-random"));
}

TEST_CASE("a pool that comes back is no past epoch of itself, and none is kept twice") {
  const auto a = config_of({{{"s1", 1}, {"s2", 1}}});
  const auto b = config_of({{{"s1", 1}, {"s2", 1}, {"s3", 1}}});
  State state = next_state({}, a);
  for (int i = 0; i < 5; ++i) {
    state = next_state(state, b);
    CHECK(state[0].past.size() == 1);
    state = next_state(state, a);
    CHECK(state[0].past.size() == 1);
  }
}

TEST_CASE("an epoch goes when none of its servers is configured any more") {
  State state = next_state({}, config_of({{{"s1", 1}}}));
  state = next_state(state, config_of({{{"s1", 1}, {"s2", 1}}}));
  CHECK(state[0].past.size() == 1);
  state = next_state(state, config_of({{{"s2", 1}}}));
  REQUIRE(state[0].past.size() == 1);
  CHECK(state[0].past[0].epoch.members == Members{{"s1", 1}, {"s2", 1}});
  state = next_state(state, config_of({{{"s3", 1}}}));
  CHECK(state[0].past.empty());
}

TEST_CASE("the bound cuts the oldest") {
  State state;
  for (std::uint32_t weight = 1; weight < 100; ++weight) state = next_state(state, config_of({{{"s1", weight}}}));
  REQUIRE(state[0].past.size() == node::kMaxPastEpochs);
  CHECK(state[0].past.front().epoch.members[0].weight == 98);
}

TEST_CASE("a large pool keeps as many epochs as a file can have, the newest of all pools") {
  node::NodeConfig config = config_of({{{"s1", 1}}});
  config.pools.push_back(config.pools[0]);
  config.pools[1].name = "small";
  config.pools[0].servers.resize(5000, config.pools[0].servers[0]);
  for (std::size_t i = 0; i < 5000; ++i) {
    config.pools[0].servers[i].id = std::string(60, 's') + std::to_string(i);  // near the longest id there is
  }
  State state;
  for (std::uint32_t change = 1; change <= 40; ++change) {
    config.pools[0].servers[0].weight = change;
    if (change % 10 == 0) config.pools[1].servers[0].weight = change;
    state = next_state(state, config);
  }
  CHECK(state[0].past.size() == 23);  // 24 would fit without the other pool's
  CHECK(state[0].past[0].epoch.members[0].weight == 39);
  CHECK(state[1].past.size() == 2);  // of 20 and 30: its two oldest ended before
  CHECK(node::state_json(state).size() < runtime::kMaxFile);
  CHECK(*node::parse_state(node::state_json(state)) == state);
}

TEST_CASE("the state survives the file, which others cannot read") {
  const Folder folder;
  State state = next_state({}, config_of({{{"s1", 1}}}));
  state = next_state(state, config_of({{{"s1", 1}, {"s2", 3}}}));
  const std::string directory = (folder.path / "made").string();
  REQUIRE(node::save_state(directory, state));
  std::string trouble;
  CHECK(node::load_state(directory, trouble) == state);
  CHECK(trouble.empty());
  struct stat status {};
  REQUIRE(stat((directory + "/epochs.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a damaged file is put aside, with a word, and is not fatal") {
  const Folder folder;
  for (const char* text :
       {"", "{", "[]", "{\"version\":2,\"pools\":[]}", "{\"version\":1,\"pools\":[{\"pool\":7}]}",
        "{\"version\":1,\"pools\":[{\"pool\":\"x\",\"current\":{\"key\":\"00\",\"members\":[]},\"past\":[]}]}"}) {
    std::ofstream(folder.path / "epochs.json") << text;
    std::string trouble;
    CHECK(node::load_state(folder.path.string(), trouble).empty());
    CHECK(trouble.find("is damaged") != std::string::npos);
    CHECK(!std::filesystem::exists(folder.path / "epochs.json"));
    CHECK(std::filesystem::exists(folder.path / "epochs.json.unreadable"));
  }
  std::string trouble;
  CHECK(node::load_state(folder.path.string(), trouble).empty());
  CHECK(trouble.empty());
}

TEST_CASE("a file with numbers that could not have been written is damaged, as one with a server twice or too many of them") {
  const auto with = [](const std::string& members, const std::string& began) {
    return R"({"version":1,"pools":[{"pool":"web","current":{"key":")" + std::string(32, '1') + R"(","members":[)" + members +
           "],\"began\":" + began + R"(},"past":[]}]})";
  };
  const std::string s1 = R"({"id":"s1","weight":1})";
  REQUIRE(node::parse_state(with(s1, "253402300799000")));
  for (const char* began : {"253402300800000", "9223372036854775807", "18446744073709551615", "-1", "1.5", "1e300", "null"})
    CHECK_FALSE(node::parse_state(with(s1, began)));
  for (const char* number : {"-1", "4294967296", "1.5", "1e300", "true"}) {
    CHECK_FALSE(node::parse_state(with(R"({"id":"s1","weight":)" + std::string(number) + "}", "1")));
    CHECK_FALSE(node::parse_state(with(R"({"id":"s1","weight":1,"priority":)" + std::string(number) + "}", "1")));
  }
  CHECK_FALSE(node::parse_state(with(s1 + "," + s1, "1")));
  std::string many = s1;
  for (std::size_t i = 1; i < policy::kMaxEpochMembers; ++i) many += R"(,{"id":"t)" + std::to_string(i) + R"(","weight":1})";
  CHECK(node::parse_state(with(many, "1")));
  CHECK_FALSE(node::parse_state(with(many + R"(,{"id":"s2","weight":1})", "1")));
}

TEST_CASE("digests agree where nodes agree, and only there (decision 28)") {
  const auto options = [](const Pool& pool) { return node::to_options(config_of(pool), {}); };
  const auto base = options({{{"s1", 1}, {"s2", 1}}});
  CHECK(node::placement_digest(base).size() == 16);
  CHECK(node::placement_digest(base) == node::placement_digest(options({{{"s2", 1}, {"s1", 1}}})));
  CHECK(node::placement_digest(base) != node::placement_digest(options({{{"s1", 1}, {"s2", 2}}})));
  CHECK(node::placement_digest(base) !=
        node::placement_digest(options({{{"s1", 1}, {"s2", 1}}, "202122232425262728292a2b2c2d2e2f"})));
  auto other = base;
  other.cookie_keys.accept.push_back(HashKey{1});
  CHECK(node::placement_digest(base) == node::placement_digest(other));
  CHECK(node::cookie_keys_digest(base) != node::cookie_keys_digest(other));
  auto swapped = other;
  std::swap(swapped.cookie_keys.sign, swapped.cookie_keys.accept[0]);
  CHECK(node::cookie_keys_digest(swapped) == node::cookie_keys_digest(other));
}
