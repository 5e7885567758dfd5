// SPDX-License-Identifier: BSD-3-Clause
// What the engines are told of servers, from health and drain together, over a real loop.
#include "asrpd-node/server_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "asrpd-node/hinting_events.hpp"
#include "runtime/clock.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::node;
using engine::HolderSight;
using engine::ServerState;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

engine::Backend server(const std::string& id, std::uint8_t host) {
  engine::Backend out;
  out.id = id;
  const std::uint8_t octets[] = {10, 0, 0, host};
  out.address = {IpAddress::v4(octets), 80};
  return out;
}

PoolConfig pool(const std::string& name, std::vector<engine::Backend> servers) {
  PoolConfig out;
  out.name = name;
  out.servers = std::move(servers);
  out.health.emplace();
  out.health->check = HealthCheck::asrp;
  out.health->rule.interval = milliseconds(2);
  out.health->rule.rise = out.health->rule.fall = 1;
  out.health->rule.flaps = 0;
  return out;
}

NodeConfig config_with(std::vector<PoolConfig> pools) {
  NodeConfig out;
  out.pools = std::move(pools);
  return out;
}

std::string_view name_of(ServerState state) {
  return state == ServerState::usable ? "usable" : state == ServerState::down ? "down" : "drained";
}

struct Watch {
  runtime::EventLoop loop;
  test::SeededRandom random{3};
  std::map<std::string, HolderSight> sights;  // by host; others answer
  std::vector<std::string> told;
  std::vector<Drains> overdue;
  ServerWatch watch{loop, random,
                    [this](const IpAddress& host) {
                      const auto found = sights.find(host.to_string());
                      return found == sights.end() ? HolderSight::answers : found->second;
                    },
                    [this](const std::string& p, const std::string& id, ServerState state) {
                      told.push_back(p + "/" + id + " " + std::string(name_of(state)));
                      if (told.size() >= wanted) loop.stop();
                    },
                    [this](const Drains& over) {
                      overdue.push_back(over);
                      if (overdue.size() >= stop_at_overdue) loop.stop();
                    }};
  std::size_t wanted = ~std::size_t{0};
  std::size_t stop_at_overdue = 1;

  /// Runs until so many more have been told, which are returned in order of their names. Once: a loop that was stopped stays
  /// so.
  std::vector<std::string> more(std::size_t count) {
    told.clear();
    wanted = count;
    const auto limit = loop.call_at(runtime::monotonic_now() + seconds(30), [this] { loop.stop(); });
    loop.run();
    loop.cancel(limit);
    wanted = ~std::size_t{0};
    std::sort(told.begin(), told.end());
    return told;
  }
};

using Told = std::vector<std::string>;

Drains drained(std::vector<Drains::Server> servers) {
  Drains out;
  for (Drains::Server& each : servers) out.servers[std::move(each)] = Drain{1, std::nullopt};
  return out;
}

}  // namespace

TEST_CASE("server watch: a server that is down is told as down, in each pool that it is in") {
  Watch down;
  down.sights["10.0.0.1"] = HolderSight::gone;
  down.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)}), pool("api", {server("s1", 1)})}));
  CHECK(down.more(2) == Told{"api/s1 down", "web/s1 down"});
  CHECK(down.watch.state("web", "s1") == ServerState::down);
  CHECK(down.watch.state("web", "s2") == ServerState::usable);
  CHECK(down.watch.gauges().down == 2);
  CHECK(down.watch.gauges().drained == 0);
}

TEST_CASE("server watch: a server that is back is told as usable") {
  Watch w;
  w.sights["10.0.0.1"] = HolderSight::gone;
  w.loop.call_at(runtime::monotonic_now() + milliseconds(60), [&] { w.sights.clear(); });
  w.watch.configure(config_with({pool("web", {server("s1", 1)})}));
  CHECK(w.more(2) == Told{"web/s1 down", "web/s1 usable"});
  CHECK(w.watch.gauges().down == 0);
}

TEST_CASE("server watch: a look waits until the engine knows the holder") {
  Watch w;
  w.sights["10.0.0.1"] = HolderSight::unknown;
  w.loop.call_at(runtime::monotonic_now() + milliseconds(60), [&] {
    CHECK(w.told.empty());
    CHECK(w.watch.health().lines().front().state == policy::HealthState::unchecked);
    w.sights["10.0.0.1"] = HolderSight::gone;
  });
  w.watch.configure(config_with({pool("web", {server("s1", 1)})}));
  CHECK(w.more(1) == Told{"web/s1 down"});
}

TEST_CASE("server watch: drained is told whatever health says, and its end tells what health says then") {
  Watch w;
  w.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)})}));
  w.watch.set_drains(drained({{"web", "s1"}}));
  CHECK(w.told == Told{"web/s1 drained"});
  w.watch.set_drains(drained({{"web", "s1"}, {"web", "s2"}}));
  CHECK(w.told == Told{"web/s1 drained", "web/s2 drained"});
  CHECK(w.watch.gauges().drained == 2);
  w.told.clear();
  w.watch.set_drains(drained({{"web", "s2"}}));
  CHECK(w.told == Told{"web/s1 usable"});
  w.sights["10.0.0.2"] = HolderSight::gone;
  w.sights["10.0.0.1"] = HolderSight::gone;
  CHECK(w.more(1) == Told{"web/s1 down"});  // the other one stays drained
  w.told.clear();
  w.watch.set_drains({});
  REQUIRE(w.told.size() == 1);
  CHECK(w.told[0].substr(0, 7) == "web/s2 ");
  CHECK(w.watch.gauges().drained == 0);
}

TEST_CASE("server watch: a reload tells again what is not usable, for engines forget it with a pool's last service") {
  Watch w;
  const NodeConfig both = config_with({pool("web", {server("s1", 1), server("s2", 2)})});
  w.watch.configure(both);
  CHECK(w.told.empty());
  w.watch.set_drains(drained({{"web", "s1"}}));
  w.told.clear();
  w.watch.configure(both);
  CHECK(w.told == Told{"web/s1 drained"});
  w.told.clear();
  w.watch.set_drains({});
  w.watch.configure(both);
  CHECK(w.told == Told{"web/s1 usable"});  // once: no engine takes it for anything else
}

TEST_CASE("server watch: a reload forgets the drains of servers that go") {
  Watch w;
  w.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)})}));
  w.watch.set_drains(drained({{"web", "s1"}, {"web", "s2"}}));
  w.told.clear();
  w.watch.configure(config_with({pool("web", {server("s1", 1)})}));
  CHECK(w.told == Told{"web/s1 drained"});
  CHECK(w.watch.drains() == drained({{"web", "s1"}}));
  w.told.clear();
  w.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)})}));
  CHECK(w.watch.state("web", "s2") == ServerState::usable);  // it came back: drained no more
  CHECK(w.told == Told{"web/s1 drained"});
}

TEST_CASE("server watch: a pool whose checks are taken away has servers that count as well") {
  Watch w;
  w.sights["10.0.0.1"] = HolderSight::gone;
  PoolConfig web = pool("web", {server("s1", 1)});
  w.watch.configure(config_with({web}));
  CHECK(w.more(1) == Told{"web/s1 down"});
  web.health.reset();
  w.told.clear();
  w.watch.configure(config_with({web}));
  CHECK(w.told == Told{"web/s1 usable"});
}

TEST_CASE("server watch: a deadline that is over is told once, each for itself; one to come is not") {
  Watch w;
  w.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)})}));
  const auto now = static_cast<std::int64_t>(runtime::wall_clock_seconds());
  Drains drains = drained({{"web", "s1"}, {"web", "s2"}});
  drains.servers[{"web", "s1"}].deadline = now;
  drains.servers[{"web", "s2"}].deadline = now + 3600;
  w.watch.set_drains(drains);
  const auto limit = w.loop.call_at(runtime::monotonic_now() + seconds(30), [&] { w.loop.stop(); });
  w.loop.run();
  w.loop.cancel(limit);
  REQUIRE(w.overdue.size() == 1);
  REQUIRE(w.overdue[0].servers.size() == 1);
  CHECK(w.overdue[0].servers.begin()->first.second == "s1");
  CHECK_FALSE(w.overdue[0].node);
}

TEST_CASE("server watch: the deadline of the whole node is told, too") {
  Watch w;
  w.watch.configure(config_with({pool("web", {server("s1", 1)})}));
  Drains drains;
  const auto now = static_cast<std::int64_t>(runtime::wall_clock_seconds());
  drains.node = Drain{now - 60, now};
  w.watch.set_drains(drains);
  const auto limit = w.loop.call_at(runtime::monotonic_now() + seconds(30), [&] { w.loop.stop(); });
  w.loop.run();
  w.loop.cancel(limit);
  REQUIRE(w.overdue.size() == 1);
  CHECK(w.overdue[0] == drains);
}

TEST_CASE("server watch: a deadline before one that has been told is told too, as after a clock that was set back") {
  Watch w;
  w.watch.configure(config_with({pool("web", {server("s1", 1), server("s2", 2)})}));
  const auto now = static_cast<std::int64_t>(runtime::wall_clock_seconds());
  Drains drains = drained({{"web", "s1"}});
  drains.servers[{"web", "s1"}].deadline = now;
  w.watch.set_drains(drains);
  w.loop.call_at(runtime::monotonic_now() + milliseconds(20), [&] {
    REQUIRE(w.overdue.size() == 1);
    drains.servers[{"web", "s2"}] = {now - 7200, now - 3600};
    w.watch.set_drains(drains);
  });
  w.stop_at_overdue = 2;
  const auto limit = w.loop.call_at(runtime::monotonic_now() + seconds(30), [&] { w.loop.stop(); });
  w.loop.run();
  w.loop.cancel(limit);
  REQUIRE(w.overdue.size() == 2);
  CHECK(w.overdue[0].servers.begin()->first.second == "s1");
  REQUIRE(w.overdue[1].servers.size() == 1);
  CHECK(w.overdue[1].servers.begin()->first.second == "s2");
}

TEST_CASE("hinting events: all go on, and a holder that is gone is a hint") {
  struct Sink final : engine::EventSink {
    void on_event(const engine::Event& event) override { kinds.push_back(event.kind); }
    std::vector<engine::EventKind> kinds;
  } sink;
  std::vector<std::string> hints;
  HintingEvents events(sink, [&](const IpAddress& host) { hints.push_back(host.to_string()); });
  for (const engine::EventKind kind :
       {engine::EventKind::holder_alive, engine::EventKind::holder_gone, engine::EventKind::session_created}) {
    engine::Event event{TimePoint{}, kind};
    event.peer = *IpAddress::parse("10.0.0.7");
    events.on_event(event);
  }
  CHECK(sink.kinds.size() == 3);
  CHECK(hints == Told{"10.0.0.7"});
}
