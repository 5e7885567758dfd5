// SPDX-License-Identifier: BSD-3-Clause
// Commands of both daemons over twins: what they answer, and how.
#include "asrpd-holder/commands/commands.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "asrpd-node/commands/commands.hpp"
#include "asrpd-node/status.hpp"
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
  const node::State& state() const override { return kept; }
  Result<Done, io::IoError> take_over(const node::State& told) override {
    if (disk_full) return Failure{io::IoError{"write epochs.json", ENOSPC, "make room"}};
    kept = node::next_state(node::merged_state(kept, told), configured, 9'000);
    return Done{};
  }
  void count_sessions(std::function<void(const node::SessionCount&)> counted) override {
    counting.push_back(std::move(counted));
  }

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
  node::State kept;
  std::vector<std::function<void(const node::SessionCount&)>> counting;
  bool disk_full = false;
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

TEST_CASE("backends: sessions are counted for who asks for them, and told when that is done") {
  Node node;
  node.access.add_pool("web", 2);
  engine::Service service;
  service.pool = "web";
  service.address = *Endpoint::parse("198.51.100.1:80");
  node::SessionCount count({service});
  for (unsigned client = 0; client < 3; ++client)
    count.add({{test::tcp_tuple("192.0.2.1:" + std::to_string(1000 + client), "198.51.100.1:80"),
                test::tcp_tuple("192.0.2.1:1000", "10.0.0.1:80")}});
  CHECK_FALSE(node.ask(R"({"command":"backends"})")[1].contains("sessions"));
  CHECK(node.access.counting.empty());
  CHECK(node.ask(R"({"command":"backends","sessions":true})").empty());
  REQUIRE(node.access.counting.size() == 1);
  node.access.counting[0](count);
  const auto lines = objects(node.twin.read());
  REQUIRE(lines.size() == 4);
  CHECK(lines[1]["sessions"] == 0);
  CHECK(lines[2]["sessions"] == 3);
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

policy::Epoch epoch_of(std::initializer_list<const char*> servers) {
  policy::Epoch out;
  for (const char* each : servers) out.members.push_back({each, 1});
  return out;
}

/// What `epochs_import` says of a text that comes in parts.
json import(Node& node, const std::string& text, std::size_t part = 100) {
  const json number = node.ask(R"({"command":"epochs_import"})")[0]["import"];
  for (std::size_t at = 0;; at += part) {
    json request = {{"command", "epochs_import"}, {"import", number}, {"part", text.substr(at, part)}};
    if (at + part < text.size()) {
      REQUIRE(node.ask(request.dump())[0] == json::parse(R"({"ok":true})"));
      continue;
    }
    request["end"] = true;
    return node.ask(request.dump())[0];
  }
}

/// The text that `epochs_export` gives in parts.
std::string exported(Node& node, const std::string& more = "") {
  std::string text;
  const auto lines = node.ask(R"({"command":"epochs_export")" + more + "}");
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) text += lines[i]["part"].get<std::string>();
  CHECK(lines.back()["octets"] == text.size());
  return text;
}

}  // namespace

TEST_CASE("epochs: of each pool today's and the former ones, those of the configuration among them") {
  Node node;
  node.access.add_pool("web", 2);
  node.access.add_pool("dns", 1);
  node.access.configured.pools[0].past_epochs.push_back({{{"web7", 1}}, std::nullopt});
  node.access.kept = {{"web", epoch_of({"web0", "web1"}), 3000, {{epoch_of({"web0"}), 2000}}},
                      {"dns", epoch_of({"dns0"}), 1000, {}}};
  const auto all = node.ask(R"({"command":"epochs"})");
  REQUIRE(all.size() == 6);
  const std::string digest = node::epoch_digest(epoch_of({"web1", "web0"}));
  CHECK(all[1] == json({{"pool", "web"}, {"epoch", 0}, {"began", 3000}, {"servers", 2}, {"digest", digest}}));
  CHECK(all[2]["epoch"] == 1);
  CHECK(all[2]["began"] == 2000);
  CHECK(all[2]["digest"] != digest);
  CHECK(all[3]["epoch"] == 2);
  CHECK(all[3]["began"].is_null());
  CHECK(all[4]["pool"] == "dns");
  CHECK(all[5] == json::parse(R"({"end":true,"epochs":4})"));
  CHECK(node.ask(R"({"command":"epochs","pool":"dns"})").size() == 3);
  for (const char* command : {"epochs", "epochs_export"})
    CHECK(node.ask(std::string(R"({"command":")") + command + R"(","pool":"smtp"})")[0]["kind"] == "argument");
}

TEST_CASE("epochs: what one node exports another one takes over; of what it knows already, and does not have, it tells") {
  Node old;
  Node fresh;
  for (Node* each : {&old, &fresh}) each->access.add_pool("web", 2);
  old.access.add_pool("dns", 1);
  const policy::Epoch today = epoch_of({"web0", "web1"});
  old.access.kept = {{"web", today, 3000, {{epoch_of({"web0", "web9"}), 2000}, {epoch_of({"web8"}), 1000}}},
                     {"dns", epoch_of({"dns0"}), 1000, {}}};
  fresh.access.kept = {{"web", today, 5000, {}}};
  const json answer = import(fresh, exported(old));
  CHECK(answer["ok"] == true);
  CHECK(answer["taken"] == 1);
  CHECK(answer["known"] == 1);
  CHECK(answer["left_out"] == 1);  // web8 is none of the pool's servers
  CHECK(answer["unknown_pools"] == json::parse(R"(["dns"])"));
  CHECK(answer["placement_digest"] == node::placement_digest(fresh.access.engine_options));
  REQUIRE(fresh.access.kept.size() == 1);
  REQUIRE(fresh.access.kept[0].past.size() == 1);
  CHECK(fresh.access.kept[0].past[0] == node::PastEpoch{epoch_of({"web0", "web9"}), 2000});
  CHECK(import(fresh, exported(old, R"(,"pool":"web")"))["unknown_pools"] == json::array());
  fresh.access.disk_full = true;
  CHECK(import(fresh, exported(old))["error"].get<std::string>().find("epochs.json") != std::string::npos);
}

TEST_CASE("epochs: a text with errors changes nothing, and all of them are told") {
  Node node;
  node.access.add_pool("web", 2);
  node.access.kept = {{"web", epoch_of({"web0", "web1"}), 5000, {}}};
  const node::State before = node.access.kept;
  const json answer = import(node, R"({"version":1,"pools":[
    {"pool":"web","current":{"key":"00","members":[{"id":"a b","weight":1},{"id":"s","weight":65536},{"id":"s","weight":1}]},
     "past":[{"began":-1,"key":"000102030405060708090a0b0c0d0e0f","members":[{"id":"t","priority":4294967296},7]},{}]},
    {"pool":"web","current":[]},{"pool":"x","current":{"key":"000102030405060708090a0b0c0d0e0f","members":[]},"past":[]},5]})");
  CHECK(answer["error"] == "14 problems: nothing is taken over");
  CHECK(answer["problems"] == json::parse(R"([
    "pools[0].current.key is not 32 hexadecimal digits",
    "pools[0].current.members[0].id is no name: 1 to 64 letters, digits, '-', '_' and '.'",
    "pools[0].current.members[1].weight is no number from 0 to 65535",
    "pools[0].current.members[2].id is there a second time",
    "pools[0].past[0].members[0].weight is no number from 0 to 65535",
    "pools[0].past[0].members[0].priority is no number from 0 to 4294967295",
    "pools[0].past[0].members[1] is no object",
    "pools[0].past[0].began is no number from 0 to 253402300799000",
    "pools[0].past[1].key is not 32 hexadecimal digits",
    "pools[0].past[1].members is no list",
    "pools[1].current is no object",
    "pools[1].past is no list",
    "pools[1].pool is there a second time",
    "pools[3] is no object"])"));
  for (const char* text : {"", "{", "[]", "7", R"({"version":2,"pools":[]})", R"({"version":1})"})
    CHECK(import(node, text)["problems"].size() == 1);
  CHECK(node.access.kept == before);
}

TEST_CASE(
    "epochs: an import that another one has overtaken, or that is too long, ends; of great numbers of errors the first are "
    "told") {
  Node node;
  node.access.add_pool("web", 1);
  const auto part = [&](const json& number, const std::string& text) {
    return node.ask(json{{"command", "epochs_import"}, {"import", number}, {"part", text}}.dump())[0];
  };
  const json first = node.ask(R"({"command":"epochs_import"})")[0]["import"];
  CHECK(part(first, "{")["ok"] == true);
  const json second = node.ask(R"({"command":"epochs_import"})")[0]["import"];
  CHECK(part(first, "{")["kind"] == "state");
  const std::string large(1u << 20, ' ');
  for (int i = 0; i < 16; ++i) CHECK(part(second, large)["ok"] == true);
  CHECK(part(second, " ")["error"] == "it is longer than 16 MiB");
  CHECK(part(second, " ")["kind"] == "state");
  std::string many = R"({"version":1,"pools":[)";
  for (int i = 0; i < 1500; ++i) many += i == 0 ? "0" : ",0";
  const json answer = import(node, many + "]}", 4000);
  CHECK(answer["error"] == "1500 problems: nothing is taken over");
  REQUIRE(answer["problems"].size() == 1001);
  CHECK(answer["problems"][1000] == "and 500 more");
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

TEST_CASE("nat_lookup and nat_ranges: a load balancer has neither; a gateway answers from its configuration") {
  Node node;
  CHECK(node.ask(R"({"command":"nat_lookup","address":"192.0.2.1","port":2000})")[0]["ok"] == false);
  CHECK(node.ask(R"({"command":"nat_ranges"})")[0]["ok"] == false);
  node::NatConfig& nat = node.access.configured.nat.emplace();
  nat.settings.ranges.networks.resize(1);
  nat.settings.ranges.networks[0].clients = {*Prefix::parse("10.1.0.0/28")};
  nat.settings.ranges.networks[0].outside = {*Prefix::parse("192.0.2.1")};
  nat.names = {"office"};
  const auto found = node.ask(R"({"command":"nat_lookup","address":"192.0.2.1","port":2048})");
  CHECK(found[0]["client"] == "10.1.0.1");
  CHECK(node.ask(R"({"command":"nat_lookup","address":"192.0.2.1","port":80})")[0]["client"].is_null());
  for (const char* wrong : {R"("address":"x","port":80)", R"("address":"192.0.2.1","port":65536)"})
    CHECK(node.ask(std::string(R"({"command":"nat_lookup",)") + wrong + "}")[0]["kind"] == "argument");
  CHECK(node.ask(R"({"command":"nat_ranges"})").size() == 1 + 16 + 1);
}
