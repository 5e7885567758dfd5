// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/load_receiver.hpp"

#include <doctest/doctest.h>

#include <map>

#include "support/builders.hpp"

using namespace asrp;
using asrp::test::address;
using asrp::test::endpoint;
using std::chrono::seconds;

namespace {

HashKey key_with(std::uint8_t octet) {
  HashKey key;
  key.fill(octet);
  return key;
}

struct Bench {
  Bench() {
    config.load.enabled = true;
    config.load.keys = {{key_with(1), ""}, {key_with(2), ""}};
    config.recovery.load_age = seconds(5);
    config.pools.resize(2);
    config.pools[0].name = "web";
    config.pools[0].servers = {backend("s1", "10.0.2.1:80"), backend("s2", "10.0.2.2:80")};
    config.pools[1].name = "dns";
    config.pools[1].servers = {backend("d1", "10.0.2.1:53")};
    receiver.configure(config);
  }
  static engine::Backend backend(const char* id, const char* where) {
    engine::Backend out;
    out.id = id;
    out.address = endpoint(where);
    return out;
  }
  void report(std::string_view from, const policy::LoadReport& what, std::uint8_t key = 1) {
    const auto octets = policy::encode_load_report(what, key_with(key), address(from));
    receiver.on_report(now, wall_ms, address(from), octets);
  }
  std::uint64_t counter(std::string_view name) const {
    std::vector<runtime::CounterLine> lines;
    receiver.append_counters(lines);
    for (const auto& line : lines)
      if (line.name == name) return line.value;
    FAIL(name);
    return 0;
  }

  node::NodeConfig config;
  TimePoint now{seconds(100)};
  std::uint64_t wall_ms = 1'700'000'000'000;
  std::map<std::string, std::uint32_t> told;
  node::LoadReceiver receiver{
      [this](const std::string& pool, const std::string& server, std::uint32_t load) { told[pool + "/" + server] = load; }};
};

}  // namespace

TEST_CASE("a report is handed on for each server that its sender is, under any of the keys") {
  Bench b;
  b.report("10.0.2.1", {77, b.wall_ms, 1});
  CHECK(b.told == std::map<std::string, std::uint32_t>{{"web/s1", 77}, {"dns/d1", 77}});
  b.report("10.0.2.2", {88, b.wall_ms, 1}, 2);
  CHECK(b.told["web/s2"] == 88);
  CHECK(b.counter("load.accepted") == 2);
}

TEST_CASE("what is not believed has no effect, and is counted by its reason") {
  Bench b;
  b.report("10.0.2.3", {1, b.wall_ms, 1});
  CHECK(b.counter("load.discarded.sender") == 1);
  b.report("10.0.2.1", {1, b.wall_ms, 1}, 3);
  CHECK(b.counter("load.discarded.mac") == 1);
  const Buffer short_one(39);
  b.receiver.on_report(b.now, b.wall_ms, address("10.0.2.1"), short_one);
  CHECK(b.counter("load.discarded.size") == 1);
  Buffer other(40);
  other[0] = 2;
  b.receiver.on_report(b.now, b.wall_ms, address("10.0.2.1"), other);
  CHECK(b.counter("load.discarded.version") == 1);
  b.report("10.0.2.1", {1, b.wall_ms - 10'001, 1});
  CHECK(b.counter("load.discarded.time") == 1);
  CHECK(b.told.empty());
  CHECK(b.counter("load.accepted") == 0);
  b.report("10.0.2.1", {5, b.wall_ms, 1});
  b.report("10.0.2.1", {5, b.wall_ms, 1});
  CHECK(b.counter("load.discarded.repeated") == 1);
  CHECK(b.counter("load.accepted") == 1);
  // Another server's report, sent again from this one's address.
  const auto octets = policy::encode_load_report({9, b.wall_ms, 9}, key_with(1), address("10.0.2.2"));
  b.receiver.on_report(b.now, b.wall_ms, address("10.0.2.1"), octets);
  CHECK(b.counter("load.discarded.mac") == 2);
  CHECK(b.told["web/s1"] == 5);
}

TEST_CASE("whose report does not count any more, or never came, is unknown; hosts count once") {
  Bench b;
  CHECK(b.receiver.unknown(b.now) == 2);
  b.report("10.0.2.1", {7, b.wall_ms, 1});
  CHECK(b.receiver.unknown(b.now) == 1);
  CHECK(b.receiver.unknown(b.now + seconds(5)) == 1);
  CHECK(b.receiver.unknown(b.now + seconds(5) + std::chrono::nanoseconds(1)) == 2);
  CHECK(b.receiver.load_of(b.now + seconds(5), address("10.0.2.1")) == 7);
  CHECK_FALSE(b.receiver.load_of(b.now + seconds(5) + std::chrono::nanoseconds(1), address("10.0.2.1")));
  CHECK_FALSE(b.receiver.load_of(b.now, address("10.0.2.2")));
  CHECK_FALSE(b.receiver.load_of(b.now, address("10.0.2.9")));
}

TEST_CASE("a reload keeps what servers that stay have said, and nothing of the others") {
  Bench b;
  b.report("10.0.2.1", {1, b.wall_ms, 1});
  b.report("10.0.2.2", {1, b.wall_ms, 1});
  b.config.pools[0].servers.pop_back();
  b.config.load.keys = {{key_with(2), ""}};
  b.receiver.configure(b.config);
  CHECK(b.receiver.unknown(b.now) == 0);
  CHECK(b.receiver.load_of(b.now, address("10.0.2.1")) == 1);
  b.report("10.0.2.1", {2, b.wall_ms, 1}, 2);
  CHECK(b.counter("load.discarded.repeated") == 1);
  b.report("10.0.2.1", {2, b.wall_ms, 2}, 1);
  CHECK(b.counter("load.discarded.mac") == 1);
  b.report("10.0.2.2", {2, b.wall_ms, 2}, 2);
  CHECK(b.counter("load.discarded.sender") == 1);
}
