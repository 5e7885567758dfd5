// SPDX-License-Identifier: BSD-3-Clause
// The health board over twins of the probers and a clock that the tests turn.
#include "asrpd-node/health_board.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "io/testing/memory_prober.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::node;
using io::testing::MemoryProber;
using policy::HealthState;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

HealthConfig how(HealthCheck check = HealthCheck::tcp) {
  HealthConfig out;
  out.check = check;
  out.rule.interval = seconds(10);
  out.rule.jitter = 0;
  out.rule.rise = 2;
  out.rule.fall = 2;
  return out;
}

engine::Backend server(const std::string& id, unsigned host) {
  engine::Backend out;
  out.id = id;
  const std::uint8_t octets[] = {10, 0, static_cast<std::uint8_t>(host >> 8), static_cast<std::uint8_t>(host)};
  out.address = {IpAddress::v4(octets), 80};
  return out;
}

PoolConfig pool(const std::string& name, std::vector<engine::Backend> servers, std::optional<HealthConfig> health = how()) {
  PoolConfig out;
  out.name = name;
  out.servers = std::move(servers);
  out.health = std::move(health);
  return out;
}

struct Board {
  MemoryProber tcp, http, command, asrp;
  test::SeededRandom random{1};
  TimePoint now{seconds(1000)};
  std::vector<std::string> changes;
  HealthBoard board{{tcp, http, command, asrp},
                    random,
                    [this] { return now; },
                    [this](const HealthBoard::Line& line) {
                      changes.push_back(line.pool + "/" + line.id + " " + std::string(policy::to_string(line.state)));
                    },
                    [this] { ++ended; }};
  int ended = 0;

  /// Lets time pass until the board wants to be called, and calls it.
  void next() {
    const auto at = board.next_due();
    REQUIRE(at);
    now = std::max(now, *at);
    board.on_time();
  }
  /// Ends all looks that go on.
  void end_all(MemoryProber& prober, bool good, const std::string& detail = "x") {
    for (const auto& look : prober.open()) MemoryProber::end(look, {good, detail});
  }
  /// One more look at each server.
  void round(MemoryProber& prober, bool good) {
    now += seconds(10);
    board.on_time();
    end_all(prober, good);
  }
};

}  // namespace

TEST_CASE("health board: nothing to look after is nothing to do, and everything is usable") {
  Board b;
  CHECK_FALSE(b.board.next_due());
  b.board.configure({pool("web", {server("s1", 1)}, std::nullopt)});
  CHECK_FALSE(b.board.next_due());
  CHECK(b.board.usable("web", "s1"));
  CHECK(b.board.lines().empty());
}

TEST_CASE("health board: a server that fails gets no new sessions, one that is back does; each change is told once") {
  Board b;
  b.board.configure({pool("web", {server("s1", 1), server("s2", 2)})});
  b.round(b.tcp, true);
  std::sort(b.changes.begin(), b.changes.end());  // whose first look comes first is chance
  CHECK(b.changes == std::vector<std::string>{"web/s1 up", "web/s2 up"});
  b.changes.clear();
  for (int i = 0; i < 5; ++i) {
    b.now += seconds(10);
    b.board.on_time();
    for (const auto& look : b.tcp.open()) MemoryProber::end(look, {look->target.id == "s2", "no answer"});
  }
  CHECK(b.changes == std::vector<std::string>{"web/s1 down"});
  CHECK_FALSE(b.board.usable("web", "s1"));
  CHECK(b.board.usable("web", "s2"));
  const auto lines = b.board.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].id == "s1");
  CHECK(lines[0].detail == "no answer");
  CHECK(lines[0].falls == 1);
  b.round(b.tcp, true);
  b.round(b.tcp, true);
  CHECK(b.changes == std::vector<std::string>{"web/s1 down", "web/s1 up"});
  CHECK(b.board.usable("web", "s1"));
  CHECK(b.board.looks() == 16);
  CHECK(b.board.failed_looks() == 5);
}

TEST_CASE("health board: each check goes to its prober, with the port that is asked for") {
  Board b;
  HealthConfig http = how(HealthCheck::http);
  http.port = 8080;
  http.question.path = "/ready";
  b.board.configure({pool("a", {server("s", 1)}), pool("b", {server("s", 2)}, http),
                     pool("c", {server("s", 3)}, how(HealthCheck::command)),
                     pool("d", {server("s", 4)}, how(HealthCheck::asrp))});
  b.now += seconds(10);
  b.board.on_time();
  REQUIRE(b.tcp.open().size() == 1);
  CHECK(b.tcp.open()[0]->target.address.to_string() == "10.0.0.1:80");
  REQUIRE(b.http.open().size() == 1);
  CHECK(b.http.open()[0]->target.address.to_string() == "10.0.0.2:8080");
  CHECK(b.http.open()[0]->question.path == "/ready");
  CHECK(b.http.open()[0]->target.pool == "b");
  CHECK(b.command.open().size() == 1);
  CHECK(b.asrp.open().size() == 1);
}

TEST_CASE("health board: a server is looked at once at a time, however long it takes") {
  Board b;
  b.board.configure({pool("web", {server("s1", 1)})});
  b.next();
  CHECK(b.tcp.open().size() == 1);
  CHECK_FALSE(b.board.next_due());
  b.now += seconds(100);
  b.board.on_time();
  CHECK(b.tcp.looks().size() == 1);
  b.end_all(b.tcp, true);
  CHECK(b.board.next_due() == b.now + seconds(10));
  CHECK(b.ended == 1);
}

TEST_CASE("health board: so many looks at once and no more; what waits has its turn, the longest due first") {
  Board b;
  std::vector<engine::Backend> servers;
  for (unsigned i = 0; i < 200; ++i) servers.push_back(server("s" + std::to_string(i), i + 1));
  b.board.configure({pool("web", servers)});
  b.now += seconds(10);
  b.board.on_time();
  std::set<std::string> seen;
  while (!b.tcp.open().empty()) {
    CHECK(b.tcp.open().size() <= HealthBoard::kMostLooks);
    if (seen.size() + b.tcp.open().size() < 200) {
      CHECK(b.tcp.open().size() == HealthBoard::kMostLooks);
      CHECK_FALSE(b.board.next_due());  // an end brings the next one, not the time
    }
    const auto look = b.tcp.open().front();
    CHECK(seen.insert(look->target.id).second);
    MemoryProber::end(look, {true, ""});
  }
  CHECK(seen.size() == 200);
}

TEST_CASE("health board: a reload keeps what is known of servers that stay, and forgets those that go") {
  Board b;
  b.board.configure({pool("web", {server("s1", 1), server("s2", 2), server("s3", 3)})});
  for (int i = 0; i < 2; ++i) b.round(b.tcp, false);
  CHECK_FALSE(b.board.usable("web", "s1"));
  b.now += seconds(10);
  b.board.on_time();
  REQUIRE(b.tcp.open().size() == 3);
  const auto looks = b.tcp.open();

  HealthConfig slower = how();
  slower.rule.rise = 3;
  engine::Backend disabled = server("s3", 3);
  disabled.state = engine::BackendState::disabled;
  b.board.configure({pool("web", {server("s1", 1), server("s2", 22), disabled}, slower)});
  CHECK_FALSE(b.board.usable("web", "s1"));  // whatever the new rule
  CHECK(b.board.usable("web", "s2"));        // another server by an old name
  CHECK(b.board.usable("web", "s3"));        // not looked after any more
  CHECK(b.board.lines().size() == 2);
  for (const auto& look : looks) CHECK(look->destroyed);
  b.changes.clear();
  for (const auto& look : looks) MemoryProber::end(look, {true, ""});
  for (int i = 0; i < 2; ++i) b.round(b.tcp, true);
  CHECK_FALSE(b.board.usable("web", "s1"));
  b.round(b.tcp, true);
  CHECK(b.board.usable("web", "s1"));

  b.board.configure({pool("web", {server("s1", 1)}, slower)});
  CHECK(b.board.lines().size() == 1);
  b.board.configure({});
  CHECK(b.board.lines().empty());
  CHECK_FALSE(b.board.next_due());
}

TEST_CASE("health board: looks that a reload ends make room for others, whether their servers stay or go") {
  Board b;
  std::vector<engine::Backend> servers;
  for (unsigned i = 0; i < HealthBoard::kMostLooks; ++i) servers.push_back(server("s" + std::to_string(i), i + 1));
  const std::vector<engine::Backend> others = {server("new", 1000)};
  b.board.configure({pool("web", servers)});
  b.now += seconds(10);
  b.board.on_time();
  CHECK(b.tcp.open().size() == HealthBoard::kMostLooks);
  b.board.configure({pool("web", servers, how(HealthCheck::http))});
  b.now += seconds(10);
  b.board.on_time();
  CHECK(b.tcp.open().empty());
  CHECK(b.http.open().size() == HealthBoard::kMostLooks);
  b.board.configure({pool("web", others)});
  b.now += seconds(10);
  b.board.on_time();
  CHECK(b.http.open().empty());
  CHECK(b.tcp.open().size() == 1);
}

TEST_CASE("health board: a reload that changes nothing leaves looks that go on alone") {
  Board b;
  const std::vector<PoolConfig> pools = {pool("web", {server("s1", 1)})};
  b.board.configure(pools);
  b.next();
  b.board.configure(pools);
  REQUIRE(b.tcp.open().size() == 1);
  b.end_all(b.tcp, false);
  CHECK_FALSE(b.board.usable("web", "s1"));
  CHECK(b.tcp.looks().size() == 1);
}

TEST_CASE("health board: a hint about a host brings the looks at its servers forward, of all pools, and of no other host") {
  Board b;
  b.board.configure({pool("web", {server("s1", 1), server("s2", 2)}), pool("api", {server("s1", 1)})});
  b.round(b.tcp, true);
  const std::size_t before = b.tcp.looks().size();
  b.now += seconds(5);
  b.board.on_hint(server("", 1).address.address);
  b.board.on_time();
  REQUIRE(b.tcp.open().size() == 2);
  CHECK(b.tcp.looks().size() == before + 2);
  for (const auto& look : b.tcp.open()) CHECK(look->target.id == "s1");
  b.board.on_hint(server("", 1).address.address);  // under way: nothing more
  b.board.on_time();
  CHECK(b.tcp.looks().size() == before + 2);

  b.end_all(b.tcp, true);
  b.board.configure({pool("web", {server("s1", 7), server("s2", 2)})});  // moved to another host; the other pool has gone
  b.now += seconds(30);
  b.round(b.tcp, true);
  const std::size_t moved = b.tcp.looks().size();
  b.now += seconds(5);
  b.board.on_hint(server("", 1).address.address);
  b.board.on_time();
  CHECK(b.tcp.looks().size() == moved);
  b.board.on_hint(server("", 7).address.address);
  b.board.on_time();
  CHECK(b.tcp.looks().size() == moved + 1);
}
