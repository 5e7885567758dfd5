// SPDX-License-Identifier: BSD-3-Clause
// Commands of both daemons over twins: what they answer, and how.
#include "asrpd-holder/commands/commands.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "asrpd-node/commands/commands.hpp"
#include "driver/twins.hpp"
#include "runtime/testing/control_twin.hpp"
#include "support/builders.hpp"
#include "support/node_fakes.hpp"

using namespace asrp;
using namespace asrp::runtime;
using nlohmann::json;

namespace {

/// The lines of an answer, each an object.
std::vector<json> objects(const std::string& text) {
  std::vector<json> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(end != std::string::npos);
    out.push_back(json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

struct FakeNode final : node::NodeAccess {
  FakeNode()
      : watch(
            loop, random, [](const IpAddress&) { return engine::HolderSight::unknown; },
            [](const std::string&, const std::string&, engine::ServerState) {}, [](const node::Drains&) {}) {}
  const node::NodeConfig& config() const override { return configured; }
  const engine::NodeOptions& options() const override { return engine_options; }
  EventLoop& event_loop() override { return loop; }
  void for_each_worker(const std::function<void(node::Worker&)>&) override {}
  const node::ServerWatch& servers() const override { return watch; }
  engine::HolderSight holder_sight(const IpAddress&) override { return engine::HolderSight::answers; }
  std::optional<std::uint32_t> load_of(const IpAddress& host) const override {
    return host == IpAddress::v4(0x0a000000) ? std::optional<std::uint32_t>(77) : std::nullopt;
  }
  std::uint64_t revision() const override { return number; }
  Result<std::unique_ptr<io::Conntrack>, io::IoError> open_table() override {
    auto table = std::make_unique<test::MemoryConntrack>();
    table->details = sessions;
    return std::unique_ptr<io::Conntrack>(std::move(table));
  }
  Result<Done, io::IoError> change_drains(node::Drains) override { return Done{}; }
  void count_sessions(std::function<void(const node::SessionCount&)>) override {}

  void add_pool(const std::string& name, unsigned servers) {
    node::PoolConfig pool;
    pool.name = name;
    for (unsigned i = 0; i < servers; ++i) {
      engine::Backend server;
      server.id = name + std::to_string(i);
      server.address = {IpAddress::v4(0x0a000000 + i), 80};
      pool.servers.push_back(server);
    }
    configured.pools.push_back(pool);
  }

  EventLoop loop;
  SystemRandom random;
  node::NodeConfig configured;
  engine::NodeOptions engine_options;
  node::ServerWatch watch;
  std::vector<io::Conntrack::Detail> sessions;
  std::uint64_t number = 1;
};

struct Node {
  FakeNode access;
  CommandTable table;
  ControlTwin twin{table};
  Node() { node::add_commands(table, access); }
  /// All lines, those of a thread too.
  std::vector<json> ask(const std::string& line) {
    std::string text = twin.ask(line);
    while (twin.is_streaming()) {
      std::this_thread::yield();
      text += twin.read();
    }
    return objects(text);
  }
};

io::Conntrack::Detail listed(unsigned client, std::uint64_t octets) {
  io::Conntrack::Detail out;
  out.flow.tuples = {test::tcp_tuple("192.0.2.1:1000", "198.51.100.1:80"), test::tcp_tuple("192.0.2.1:1000", "10.0.0.1:80")};
  out.flow.tuples.client_side.src.address = IpAddress::v4(0xc0000200 + client);
  out.state = "ESTABLISHED";
  out.from_client = io::Traffic{1, octets};
  out.from_server = io::Traffic{1, 0};
  return out;
}

}  // namespace

TEST_CASE("backends: every server once, in pieces; of one pool; a pool that is not there is refused") {
  Node node;
  node.access.add_pool("web", 1000);
  node.access.add_pool("dns", 2);
  node.access.configured.pools[1].servers[1].state = engine::BackendState::disabled;
  const auto all = node.ask(R"({"command":"backends"})");
  REQUIRE(all.size() == 1 + 1002 + 1);
  std::set<std::string> ids;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) ids.insert(all[i]["id"]);
  CHECK(ids.size() == 1002);
  CHECK(all.back() == json::parse(R"({"end":true,"servers":1002})"));
  const auto dns = node.ask(R"({"command":"backends","pool":"dns"})");
  REQUIRE(dns.size() == 4);
  CHECK(dns[1] == json::parse(R"({"pool":"dns","id":"dns0","address":"10.0.0.0:80","weight":1,"state":"active","holder":"yes",
                                  "holder_seen":"answers","new_sessions":"yes"})"));
  CHECK(dns[2]["new_sessions"] == "no");
  CHECK(node.ask(R"({"command":"backends","pool":"smtp"})")[0]["kind"] == "argument");
}

TEST_CASE("backends: how busy a server says it is, where reports are taken") {
  Node node;
  node.access.add_pool("web", 2);
  CHECK_FALSE(node.ask(R"({"command":"backends"})")[1].contains("load"));
  node.access.configured.load.enabled = true;
  const auto all = node.ask(R"({"command":"backends"})");
  CHECK(all[1]["load"] == 77);
  CHECK(all[2]["load"].is_null());
}

TEST_CASE("backends: a reload in the middle ends the listing and says so") {
  Node node;
  node.access.add_pool("web", 1000);
  node.twin.send(R"({"command":"backends"})");
  CHECK(node.twin.read_piece());
  ++node.access.number;
  node.access.configured.pools.clear();
  const auto lines = objects(node.twin.read());
  CHECK(lines.size() < 1000);
  CHECK(lines.back().contains("error"));
}

TEST_CASE("sessions: listed by a thread, with filters; their number at the end") {
  Node node;
  for (unsigned i = 0; i < 5000; ++i) node.access.sessions.push_back(listed(i % 250, 1));
  CHECK(node.ask(R"({"command":"sessions"})").size() == 5002);
  const auto some = node.ask(R"({"command":"sessions","client":"192.0.2.7","protocol":"tcp","state":"established"})");
  REQUIRE(some.size() == 22);
  CHECK(some[1]["client"] == "192.0.2.7:1000");
  CHECK(some.back() == json::parse(R"({"end":true,"sessions":20})"));
  for (const char* wrong :
       {R"("client":"x")", R"("service":"web")", R"("protocol":"icmp")", R"("by":"size")", R"("server":"")"})
    CHECK(node.ask(std::string(R"({"command":"sessions",)") + wrong + "}")[0]["kind"] == "argument");
}

TEST_CASE("sessions: who has most") {
  Node node;
  for (unsigned i = 0; i < 100; ++i) node.access.sessions.push_back(listed(i, 1));
  for (unsigned i = 0; i < 5; ++i) node.access.sessions.push_back(listed(7, 1));
  const auto top = node.ask(R"({"command":"sessions","top":2,"by":"sessions"})");
  REQUIRE(top.size() == 4);
  CHECK(top[1]["client"] == "192.0.2.7");
  CHECK(top[1]["sessions"] == 6);
  CHECK(top[2]["client"] == "192.0.2.0");
  CHECK(top[3] == json::parse(R"({"end":true,"sessions":105,"too_low_by":0})"));
}

TEST_CASE("sessions: four listings at a time; one that nobody reads ends when its reader goes") {
  Node node;
  for (unsigned i = 0; i < 20000; ++i) node.access.sessions.push_back(listed(i % 250, 1));
  std::vector<std::unique_ptr<ControlTwin>> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back(std::make_unique<ControlTwin>(node.table));
    readers.back()->send(R"({"command":"sessions"})");
    CHECK(readers.back()->is_streaming());
  }
  CHECK(node.ask(R"({"command":"sessions"})")[0]["kind"] == "busy");
  readers[2]->hang_up();
  CHECK(node.ask(R"({"command":"sessions"})").size() == 20002);
}

namespace {

struct FakeHolder final : holder::HolderAccess {
  const holder::HolderConfig& config() const override { return configured; }
  engine::HolderEngine& engine() override { return *engine_; }
  holder::HolderConfig configured;
  engine::HolderEngine* engine_ = nullptr;
};

}  // namespace

TEST_CASE("services: of a holder as they are configured") {
  FakeHolder access;
  access.configured.options.services.resize(1);
  access.configured.options.services[0].protocol = Protocol::udp;
  access.configured.options.services[0].port = 53;
  CommandTable table;
  holder::add_commands(table, access);
  ControlTwin twin(table);
  CHECK(json::parse(twin.ask(R"({"command":"services"})")) ==
        json::parse(R"({"ok":true,"services":[{"protocol":"udp","port":53,"push":"auto"}]})"));
}
