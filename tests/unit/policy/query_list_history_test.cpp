// SPDX-License-Identifier: BSD-3-Clause
// Properties of the candidate list that hold for any pool and any history of changes (decision 11).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "asrp/policy/query_list.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;

namespace {

/// A pool that has been changed at random: servers joined, left, got other weights, now and then another key.
struct History {
  explicit History(std::uint64_t seed) : random(seed) {
    random.fill(key);
    for (std::size_t i = 1 + random.below(12); i > 0; --i) join();
    for (std::size_t changes = random.below(9); changes > 0; --changes) change();
  }

  void join() {
    const auto weight = static_cast<std::uint32_t>(1 + random.below(4));
    servers.push_back({"s" + std::to_string(++joined), weight, true, true});
  }
  void change() {
    Epoch epoch{{}, key};
    for (const PoolServer& s : servers) epoch.members.push_back({s.id, s.weight});
    past.insert(past.begin(), std::move(epoch));
    const std::size_t who = random.below(servers.size());
    switch (random.below(4)) {
      case 0:
        if (servers.size() > 1) servers.erase(servers.begin() + static_cast<std::ptrdiff_t>(who));
        break;
      case 1:
        servers[who].weight = static_cast<std::uint32_t>(1 + random.below(6));
        break;
      case 2:
        if (random.one_in(3)) random.fill(key);
        break;
      default:
        join();
    }
  }
  template <typename List>
  void shuffle(List& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
  }
  Tuple flow() {
    return {{IpAddress::v4(random.u32()), static_cast<std::uint16_t>(random.u32())}, {IpAddress::v4(1), 80}, Protocol::tcp};
  }

  test::SeededRandom random;
  HashKey key{};
  std::vector<PoolServer> servers;
  std::vector<Epoch> past;
  int joined = 0;
};

std::vector<std::string> ids(const std::vector<PoolServer>& servers, const QueryList& list) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < list.count; ++i) out.push_back(servers[list.servers[i]].id);
  return out;
}

/// The first ranks of a flow, by the plain ranking of one epoch.
std::vector<std::string> first_ranks(const Ranking& ranking, const Tuple& flow, std::size_t count) {
  std::vector<std::uint16_t> ranks(count);
  ranks.resize(ranking.top(placement_row(ranking.key(), flow), ranks));
  std::vector<std::string> out;
  for (const std::uint16_t r : ranks) out.push_back(ranking.id(r));
  return out;
}

Epoch epoch_of(const std::vector<PoolServer>& servers, const HashKey& key) {
  Epoch epoch{{}, key};
  for (const PoolServer& s : servers) epoch.members.push_back({s.id, s.weight});
  return epoch;
}

/// The first server of each row.
std::vector<std::string> owners(const Epoch& epoch) {
  const Ranking ranking(epoch);
  std::vector<std::string> out;
  for (std::size_t row = 0; row < kRows; ++row) {
    std::uint16_t first = 0;
    ranking.top(static_cast<std::uint16_t>(row), {&first, 1});
    out.push_back(ranking.id(first));
  }
  return out;
}

}  // namespace

TEST_CASE("the same list on every node from the same facts, in whatever order they came [spec 3.5.3-1]") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    History history(seed);
    const Pool one(history.servers, history.key, history.past, 3);
    auto servers = history.servers;
    auto past = history.past;
    history.shuffle(servers);
    for (Epoch& epoch : past) history.shuffle(epoch.members);
    const Pool two(servers, history.key, past, 3);
    CHECK(one.same_epoch(two));
    for (int i = 0; i < 100; ++i) {
      const Tuple flow = history.flow();
      const QueryList a = one.query(flow);
      const QueryList b = two.query(flow);
      CHECK(ids(history.servers, a) == ids(servers, b));
      CHECK(a.first_round == b.first_round);
      CHECK(a.cut == b.cut);
    }
  }
}

TEST_CASE(
    "whom a kept epoch ranks among the flow's first is in the first round, or the bound cut it [spec 3.5.3-2] [spec 3.5.3-3]") {
  std::size_t cuts = 0;
  std::size_t beyond = 0;
  for (std::uint64_t seed = 100; seed < 200; ++seed) {
    History history(seed);
    const std::size_t depth = 1 + seed % 3;
    const Pool pool(history.servers, history.key, history.past, depth);
    std::vector<Ranking> epochs;
    epochs.emplace_back(epoch_of(history.servers, history.key));
    for (const Epoch& epoch : history.past) epochs.emplace_back(epoch);
    for (int i = 0; i < 40; ++i) {
      const Tuple flow = history.flow();
      const QueryList list = pool.query(flow);
      const auto asked = ids(history.servers, list);
      CHECK(list.first_round <= kMaxCandidates);
      cuts += list.cut;
      for (const Ranking& epoch : epochs) {
        for (const std::string& id : first_ranks(epoch, flow, depth)) {
          const bool configured =
              std::any_of(history.servers.begin(), history.servers.end(), [&](const PoolServer& s) { return s.id == id; });
          const auto place = static_cast<std::size_t>(std::find(asked.begin(), asked.end(), id) - asked.begin());
          if (!configured) {
            CHECK(place == asked.size());
          } else if (place >= list.first_round) {
            CHECK(list.cut);
            ++beyond;
          }
        }
      }
    }
  }
  CHECK(cuts > 0);
  CHECK(beyond > 0);
}

TEST_CASE("minimal movement: a server that comes takes, one that goes gives, and nothing else moves") {
  for (std::uint64_t seed = 200; seed < 205; ++seed) {
    History history(seed);
    const auto before = owners(epoch_of(history.servers, history.key));
    history.join();
    const std::string newcomer = history.servers.back().id;
    const auto after = owners(epoch_of(history.servers, history.key));
    for (std::size_t row = 0; row < kRows; ++row) {
      if (after[row] != before[row]) REQUIRE(after[row] == newcomer);
    }
    const std::string leaver = history.servers.front().id;
    history.servers.erase(history.servers.begin());
    const auto without = owners(epoch_of(history.servers, history.key));
    for (std::size_t row = 0; row < kRows; ++row) {
      if (without[row] != after[row]) REQUIRE(after[row] == leaver);
    }
  }
}

TEST_CASE("minimal movement: with more weight a server only takes, with less it only gives") {
  for (std::uint64_t seed = 300; seed < 305; ++seed) {
    History history(seed);
    while (history.servers.size() < 3) history.join();
    const auto light = owners(epoch_of(history.servers, history.key));
    history.servers[1].weight *= 2;
    const std::string who = history.servers[1].id;
    const auto heavy = owners(epoch_of(history.servers, history.key));
    std::size_t taken = 0;
    for (std::size_t row = 0; row < kRows; ++row) {
      if (heavy[row] == light[row]) continue;
      REQUIRE(heavy[row] == who);
      ++taken;
    }
    CHECK(taken > 0);
  }
}

TEST_CASE("balance: each server's rows are what its weight says, within what chance allows") {
  for (std::uint64_t seed = 400; seed < 406; ++seed) {
    const History history(seed);
    const auto all = owners(epoch_of(history.servers, history.key));
    double sum = 0;
    for (const PoolServer& s : history.servers) sum += s.weight;
    for (const PoolServer& s : history.servers) {
      const double expected = kRows * s.weight / sum;
      const auto seen = static_cast<double>(std::count(all.begin(), all.end(), s.id));
      // Five standard deviations of a draw for each row.
      CHECK(std::abs(seen - expected) <= 5 * std::sqrt(expected * (1 - s.weight / sum)) + 1e-9);
    }
  }
}
