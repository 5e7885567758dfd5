// SPDX-License-Identifier: BSD-3-Clause
// `drain`, `undrain`, `drains` and `ready` of the node's control socket, over a node that is a twin.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "asrpd-node/commands/commands.hpp"
#include "runtime/clock.hpp"
#include "runtime/testing/control_twin.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::node;
using nlohmann::json;

namespace {

engine::Backend server(const std::string& id, std::uint8_t host, engine::BackendState state = engine::BackendState::active) {
  engine::Backend out;
  out.id = id;
  const std::uint8_t octets[] = {10, 0, 0, host};
  out.address = {IpAddress::v4(octets), 80};
  out.state = state;
  return out;
}

Endpoint service_of(std::uint8_t host) {
  const std::uint8_t octets[] = {192, 0, 2, host};
  return {IpAddress::v4(octets), 443};
}

/// Pools web (s1, s2) and api (s1, joining s3), each with a service.
class Twin final : public NodeAccess {
 public:
  Twin()
      : watch_(
            loop_, random_, {}, [this](auto&&...) { ++told; }, [](const Drains&) {}) {
    PoolConfig web;
    web.name = "web";
    web.servers = {server("s1", 1), server("s2", 2)};
    PoolConfig api;
    api.name = "api";
    api.servers = {server("s1", 11), server("s3", 13, engine::BackendState::joining)};
    config_.pools = {web, api};
    for (std::uint8_t i = 0; i < 2; ++i) {
      engine::Service service;
      service.pool = config_.pools[i].name;
      service.address = service_of(static_cast<std::uint8_t>(1 + i));
      options_.services.push_back(service);
    }
    watch_.configure(config_);
    add_commands(table_, *this);
  }

  [[nodiscard]] const NodeConfig& config() const override { return config_; }
  [[nodiscard]] const engine::NodeOptions& options() const override { return options_; }
  [[nodiscard]] runtime::EventLoop& event_loop() override { return loop_; }
  void for_each_worker(const std::function<void(Worker&)>&) override {}
  [[nodiscard]] const ServerWatch& servers() const override { return watch_; }
  engine::HolderSight holder_sight(const IpAddress&) override { return engine::HolderSight::answers; }
  [[nodiscard]] std::optional<std::uint32_t> load_of(const IpAddress&) const override { return std::nullopt; }
  [[nodiscard]] std::uint64_t revision() const override { return 1; }
  Result<std::unique_ptr<io::Conntrack>, io::IoError> open_table() override {
    return Failure{io::IoError{"use conntrack", ENOSYS, "none of these commands does"}};
  }
  Result<Done, io::IoError> change_drains(Drains next) override {
    if (disk_full) return Failure{io::IoError{"write drain.json", ENOSPC, "make room"}};
    watch_.set_drains(std::move(next));
    return Done{};
  }
  [[nodiscard]] const State& state() const override { return state_; }
  Result<Done, io::IoError> take_over(const State&) override { return Done{}; }
  void count_sessions(std::function<void(const SessionCount&)> counted) override {
    SessionCount count(options_.services);
    for (const engine::FlowEntry& entry : entries) count.add(entry);
    counted(count);
  }

  json ask(const json& request) { return json::parse(twin_.ask(request.dump())); }
  void add_session(std::uint8_t service, std::uint8_t host, bool closing = false) {
    const std::uint8_t client[] = {198, 51, 100, 1};
    const Endpoint from{IpAddress::v4(client), static_cast<std::uint16_t>(1000 + entries.size())};
    engine::FlowEntry entry;
    entry.tuples.client_side = {from, service_of(service), Protocol::tcp};
    entry.tuples.server_side = {from, server("", host).address, Protocol::tcp};
    entry.closing = closing;
    entries.push_back(entry);
  }

  std::vector<engine::FlowEntry> entries;
  bool disk_full = false;
  int told = 0;

 private:
  runtime::EventLoop loop_;
  test::SeededRandom random_{5};
  NodeConfig config_;
  State state_;
  engine::NodeOptions options_;
  ServerWatch watch_;
  runtime::CommandTable table_;
  runtime::ControlTwin twin_{table_};
};

}  // namespace

TEST_CASE("drain command: a server by its id, in all pools that have it, or in one") {
  Twin node;
  const json all = node.ask({{"command", "drain"}, {"server", "s1"}});
  CHECK(all["ok"] == true);
  CHECK(all["drained"] == json::parse(R"([{"pool":"api","server":"s1"},{"pool":"web","server":"s1"}])"));
  CHECK(all["pools_without_server"] == json::parse(R"(["api"])"));  // the other one there is only joining
  CHECK(node.told == 2);
  CHECK(node.servers().state("web", "s1") == engine::ServerState::drained);
  CHECK(node.servers().state("web", "s2") == engine::ServerState::usable);
  const json back = node.ask({{"command", "undrain"}, {"server", "s1"}, {"pool", "api"}});
  CHECK(back["undrained"] == json::parse(R"([{"pool":"api","server":"s1"}])"));
  CHECK(back["pools_without_server"] == json::array());
  CHECK(node.servers().state("api", "s1") == engine::ServerState::usable);
  CHECK(node.servers().state("web", "s1") == engine::ServerState::drained);
  CHECK(node.ask({{"command", "undrain"}, {"server", "s1"}})["undrained"] == json::parse(R"([{"pool":"web","server":"s1"}])"));
  CHECK(node.servers().drains() == Drains{});
}

TEST_CASE("drain command: what makes no sense is refused, and changes nothing") {
  Twin node;
  struct Row {
    json request;
    const char* error;
  };
  for (const Row& row : {
           Row{{{"command", "drain"}}, "give a server, or the whole node"},
           Row{{{"command", "drain"}, {"server", "s1"}, {"node", true}}, "give a server, or the whole node"},
           Row{{{"command", "drain"}, {"node", true}, {"pool", "web"}}, "a pool goes with a server"},
           Row{{{"command", "drain"}, {"server", "s9"}}, "no pool has a server s9"},
           Row{{{"command", "drain"}, {"server", "s3"}, {"pool", "web"}}, "pool web has no server s3"},
           Row{{{"command", "drain"}, {"server", "s1"}, {"deadline", 0}}, "a deadline is 1 to 31622400 seconds away"},
           Row{{{"command", "drain"}, {"server", "s1"}, {"deadline", 31622401}}, "a deadline is 1 to 31622400 seconds away"},
           Row{{{"command", "undrain"}, {"server", "s1"}}, "server s1 of pool api, server s1 of pool web is not drained"},
           Row{{{"command", "undrain"}, {"node", true}}, "the node is not drained"},
       }) {
    const json answer = node.ask(row.request);
    CHECK(answer["ok"] == false);
    CHECK(answer["error"] == row.error);
  }
  node.disk_full = true;
  CHECK(node.ask({{"command", "drain"}, {"server", "s1"}})["ok"] == false);
  CHECK(node.servers().drains() == Drains{});
  CHECK(node.told == 0);
}

TEST_CASE("drain command: the node; a second drain changes the deadline and not the beginning") {
  Twin node;
  CHECK(node.ask({{"command", "drain"}, {"node", true}, {"deadline", 100}})["node"] == true);
  REQUIRE(node.servers().drains().node);
  const Drain first = *node.servers().drains().node;
  CHECK(first.deadline == first.since + 100);
  CHECK(node.ask({{"command", "drain"}, {"node", true}})["ok"] == true);
  CHECK(node.servers().drains().node == Drain{first.since, std::nullopt});
  CHECK(node.told == 0);  // servers are as they were
  CHECK(node.ask({{"command", "undrain"}, {"node", true}})["node"] == false);
  CHECK_FALSE(node.servers().drains().node);
}

TEST_CASE("drains command: what is drained, its deadline, and the sessions left in this node's table") {
  Twin node;
  CHECK(node.ask({{"command", "drains"}})["servers"] == json::array());
  CHECK(node.ask({{"command", "drains"}})["node"].is_null());
  node.add_session(1, 1);
  node.add_session(1, 1);
  node.add_session(1, 1, true);  // over: the kernel merely remembers it
  node.add_session(1, 2);
  node.add_session(2, 11);
  node.add_session(9, 1);  // of no service
  node.ask({{"command", "drain"}, {"server", "s1"}, {"deadline", 60}});
  node.ask({{"command", "drain"}, {"node", true}});
  const json answer = node.ask({{"command", "drains"}});
  CHECK(answer["node"]["sessions"] == 4);
  CHECK_FALSE(answer["node"].contains("deadline"));
  REQUIRE(answer["servers"].size() == 2);
  const json& web = answer["servers"][0];
  CHECK(web["pool"] == "web");
  CHECK(web["server"] == "s1");
  CHECK(web["address"] == "10.0.0.1:80");
  CHECK(web["sessions"] == 2);
  CHECK(web["overdue"] == false);
  CHECK(web["deadline"].get<std::int64_t>() == web["since"].get<std::int64_t>() + 60);
  CHECK(answer["servers"][1]["pool"] == "api");
  CHECK(answer["servers"][1]["sessions"] == 1);
}

TEST_CASE("drains command: a deadline that is over says so") {
  Twin node;
  Drains drains;
  drains.servers[{"web", "s1"}] = Drain{1000, 2000};
  REQUIRE(node.change_drains(drains));
  const json answer = node.ask({{"command", "drains"}});
  CHECK(answer["servers"][0]["overdue"] == true);
  CHECK(answer["servers"][0]["left_s"].get<std::int64_t>() < 0);
}

TEST_CASE("ready command: a node that is drained is not ready, and says why") {
  Twin node;
  CHECK(node.ask({{"command", "ready"}}) == json::parse(R"({"ok":true,"ready":true,"reasons":[]})"));
  node.ask({{"command", "drain"}, {"server", "s1"}});
  CHECK(node.ask({{"command", "ready"}})["ready"] == true);
  node.ask({{"command", "drain"}, {"node", true}});
  CHECK(node.ask({{"command", "ready"}}) == json::parse(R"({"ok":true,"ready":false,"reasons":["the node is drained"]})"));
  node.ask({{"command", "undrain"}, {"node", true}});
  CHECK(node.ask({{"command", "ready"}})["ready"] == true);
}
