// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/drain.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

using namespace asrp;
using namespace asrp::node;

namespace {

NodeConfig config_with(const std::vector<std::pair<std::string, std::vector<std::string>>>& pools) {
  NodeConfig out;
  for (const auto& [name, ids] : pools) {
    PoolConfig pool;
    pool.name = name;
    for (const std::string& id : ids) {
      engine::Backend server;
      server.id = id;
      pool.servers.push_back(server);
    }
    out.pools.push_back(pool);
  }
  return out;
}

Drains some() {
  Drains out;
  out.node = Drain{1000, 2000};
  out.servers[{"web", "s1"}] = Drain{1001, std::nullopt};
  out.servers[{"web \"2\"", "s1"}] = Drain{1002, 3000};
  return out;
}

struct Folder {
  Folder() {
    char name[] = "asrp-drain-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

}  // namespace

TEST_CASE("drain: a name means the server of that pool, or of every pool that has it") {
  const NodeConfig c = config_with({{"web", {"s1", "s2"}}, {"api", {"s2", "s3"}}});
  CHECK(servers_named(c, "s2", std::nullopt) == std::vector<Drains::Server>{{"api", "s2"}, {"web", "s2"}});
  CHECK(servers_named(c, "s2", "web") == std::vector<Drains::Server>{{"web", "s2"}});
  CHECK(servers_named(c, "s1", "api").empty());
  CHECK(servers_named(c, "s9", std::nullopt).empty());
}

TEST_CASE("drain: ends with the server's place in the configuration; the node's own stays") {
  Drains drains = some();
  drains.servers[{"api", "s1"}] = Drain{};
  const Drains next = next_drains(drains, config_with({{"web", {"s1"}}, {"api", {"s2"}}}));
  CHECK(next.node == drains.node);
  REQUIRE(next.servers.size() == 1);
  CHECK(next.servers.begin()->first == Drains::Server{"web", "s1"});
  CHECK(next.servers.begin()->second == Drain{1001, std::nullopt});
}

TEST_CASE("drain: the file reads back the same, is for its owner alone, and is whole or not there") {
  Folder folder;
  std::string trouble;
  CHECK(load_drains(folder.path, trouble) == Drains{});
  for (const Drains& drains : {some(), Drains{}}) {
    REQUIRE(save_drains(folder.path, drains));
    CHECK(load_drains(folder.path, trouble) == drains);
    struct stat status {};
    REQUIRE(stat((folder.path + "/drain.json").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
  CHECK(trouble.empty());
}

TEST_CASE("drain: a damaged file is put aside and told, and nothing is drained") {
  const std::string good = drains_json(some());
  REQUIRE(parse_drains(good));
  for (std::size_t size = 0; size + 2 < good.size(); ++size) CHECK_FALSE(parse_drains(good.substr(0, size)));
  for (const char* bad : {"[]", "{}", "{\"version\":2,\"servers\":[]}", "{\"version\":1,\"servers\":[{\"pool\":\"a\"}]}",
                          "{\"version\":1,\"servers\":[],\"node\":{\"since\":\"x\"}}",
                          "{\"version\":1,\"servers\":[],\"node\":{\"since\":-9223372036854775808}}",
                          "{\"version\":1,\"servers\":[],\"node\":{\"since\":1e300}}",
                          "{\"version\":1,\"servers\":[],\"node\":{\"since\":1,\"deadline\":9223372036854775807}}"})
    CHECK_FALSE(parse_drains(bad));
  Folder folder;
  std::ofstream(folder.path + "/drain.json") << "{";
  std::string trouble;
  CHECK(load_drains(folder.path, trouble) == Drains{});
  CHECK(trouble.find("damaged") != std::string::npos);
  CHECK(std::filesystem::exists(folder.path + "/drain.json.unreadable"));
}
