// SPDX-License-Identifier: BSD-3-Clause
// What choosing among a flow's first ranks only, instead of among all servers, does to the balance of each policy (decision
// 29). A simulation from one seed: three nodes that share nothing, flows spread over them, the library's own placement and
// policies. Prints the two tables of docs/policies.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <queue>

#include "asrp/policy/member_selection.hpp"
#include "asrp/policy/query_list.hpp"
#include "support/seeded_random.hpp"

namespace {

using namespace asrp;
using policy::SelectionPolicy;
using std::chrono::milliseconds;

constexpr std::size_t kNodes = 3;
constexpr std::uint64_t kSeed = 5356;
constexpr std::size_t kEveryone = 0;  // instead of a number of choices

struct Servers {
  std::vector<std::uint32_t> weights;   // as configured
  std::vector<std::uint32_t> capacity;  // sessions that make a load of 100 %
  bool ranked_by_weight = true;         // whether the placement knows the weights
};

/// Three nodes in front of the same servers.
class Cluster {
 public:
  Cluster(SelectionPolicy policy, std::size_t choices, const Servers& servers, std::uint64_t seed)
      : choices_(choices), dice_(seed), pool_(pool_servers(servers), HashKey{}, {}, std::max<std::size_t>(choices, 1)) {
    for (std::size_t i = 0; i < kNodes; ++i) {
      policy::MemberSelector& node = nodes_.emplace_back(policy, dice_, std::chrono::seconds(5));
      node.set_members(members(servers));
    }
  }

  /// The server of a new session of an unknown client, which comes to any node.
  std::size_t new_session(TimePoint now) {
    policy::MemberSelector& node = nodes_[dice_.below(kNodes)];
    if (choices_ == kEveryone) return *node.choose(now, node.everyone());
    const Tuple flow{
        {IpAddress::v4(dice_.u32()), static_cast<std::uint16_t>(dice_.u32())}, {IpAddress::v4(0xc6336401), 443}, Protocol::tcp};
    std::uint16_t ranks[8];
    const std::size_t count = pool_.ranks(flow, std::span(ranks).first(choices_));
    return *node.choose(now, std::span(ranks).first(count));
  }
  void report(TimePoint now, std::size_t server, std::uint32_t load) {
    for (policy::MemberSelector& node : nodes_) node.report_load(now, server, load);
  }
  test::SeededRandom& dice() { return dice_; }

 private:
  static std::string name(std::size_t i) { return "server" + std::to_string(i); }
  static std::vector<policy::PoolServer> pool_servers(const Servers& servers) {
    std::vector<policy::PoolServer> list;
    for (const std::uint32_t weight : servers.weights) {
      list.push_back({name(list.size()), servers.ranked_by_weight ? weight : 1, true, true});
    }
    return list;
  }
  static std::vector<policy::SelectionMember> members(const Servers& servers) {
    std::vector<policy::SelectionMember> list;
    for (std::size_t i = 0; i < servers.weights.size(); ++i) {
      list.push_back({name(i), servers.weights[i], 0, 0xffffffff / servers.capacity[i], true});
    }
    return list;
  }

  std::size_t choices_;
  test::SeededRandom dice_;
  policy::Pool pool_;
  std::vector<policy::MemberSelector> nodes_;
};

Servers equal_servers(std::size_t count) {
  return {std::vector<std::uint32_t>(count, 1), std::vector<std::uint32_t>(count, 1000), true};
}

/// A quarter each of weight 1, 2, 3 and 6: half of the work belongs to a quarter of the servers.
Servers weighted_servers(std::size_t count, bool ranked_by_weight) {
  constexpr std::uint32_t kWeights[] = {1, 2, 3, 6};
  Servers servers = equal_servers(count);
  for (std::size_t i = 0; i < count; ++i) {
    servers.weights[i] = kWeights[i % 4];
    servers.capacity[i] = 350 * kWeights[i % 4];
  }
  servers.ranked_by_weight = ranked_by_weight;
  return servers;
}

/// Servers that can do different amounts, of which the configuration says nothing.
Servers uneven_servers(std::size_t count) {
  Servers servers = weighted_servers(count, true);
  servers.weights.assign(count, 1);
  return servers;
}

struct Spread {
  double least;
  double most;
};

/// Sessions of a server divided by what its weight says; the least and the most of all servers.
Spread spread(SelectionPolicy policy, std::size_t choices, const Servers& servers) {
  constexpr std::size_t kSessions = 400000;
  Cluster cluster(policy, choices, servers, kSeed);
  std::vector<double> count(servers.weights.size());
  for (std::size_t i = 0; i < kSessions; ++i) ++count[cluster.new_session(TimePoint{})];
  const double sum = std::accumulate(servers.weights.begin(), servers.weights.end(), 0.0);
  for (std::size_t i = 0; i < count.size(); ++i) count[i] /= kSessions * servers.weights[i] / sum;
  return {*std::min_element(count.begin(), count.end()), *std::max_element(count.begin(), count.end())};
}

struct Load {
  double mean_of_highest;  // the highest server's load, over time
  double highest;
  double overloaded;  // share of the sessions that met a server with a load of 100 % or more
};

/// Sessions come and go; servers report their load once a second.
Load load_over_time(SelectionPolicy policy, std::size_t choices, const Servers& servers) {
  constexpr auto kWarmUp = std::chrono::seconds(240);
  constexpr auto kEnd = std::chrono::seconds(840);
  constexpr double kMeanLife = 60;  // seconds
  const std::size_t count = servers.weights.size();
  const double capacity = std::accumulate(servers.capacity.begin(), servers.capacity.end(), 0.0);
  const double per_ms = 0.7 * capacity / kMeanLife / 1000;  // 70 % on average
  Cluster cluster(policy, choices, servers, kSeed);
  std::vector<double> sessions(count);
  using End = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  Load result{0, 0, 0};
  double due = 0;
  std::size_t arrived = 0;
  std::size_t samples = 0;
  for (std::int64_t ms = 0; ms < milliseconds(kEnd).count(); ++ms) {
    const TimePoint now{milliseconds(ms)};
    const bool counts = now.time_since_epoch() >= kWarmUp;
    for (; !ends.empty() && ends.top().first <= ms; ends.pop()) --sessions[ends.top().second];
    for (std::size_t i = 0; i < count; ++i) {  // each at its own time in the second
      if (static_cast<std::size_t>(ms % 1000) != i * 1000 / count) continue;
      const double load = std::min(1.0, sessions[i] / servers.capacity[i]);
      cluster.report(now, i, static_cast<std::uint32_t>(load * 0xffffffff));
    }
    for (due += per_ms; due >= 1; --due) {
      const std::size_t server = cluster.new_session(now);
      const double uniform = (static_cast<double>(cluster.dice().next() >> 11) + 0.5) / 9007199254740992.0;
      ends.push({ms + static_cast<std::int64_t>(-std::log(uniform) * kMeanLife * 1000), server});
      if (counts) ++arrived;
      if (counts && sessions[server] >= servers.capacity[server]) ++result.overloaded;
      ++sessions[server];
    }
    if (!counts || ms % 100 != 0) continue;
    double highest = 0;
    for (std::size_t i = 0; i < count; ++i) highest = std::max(highest, sessions[i] / servers.capacity[i]);
    result.mean_of_highest += highest;
    result.highest = std::max(result.highest, highest);
    ++samples;
  }
  result.mean_of_highest /= static_cast<double>(samples);
  result.overloaded /= static_cast<double>(arrived);
  return result;
}

void print_spreads(const char* title, const Servers& servers, std::initializer_list<SelectionPolicy> policies) {
  for (const SelectionPolicy policy : policies) {
    std::printf("| %zu %s | `%s` |", servers.weights.size(), title, std::string(to_string(policy)).c_str());
    for (const std::size_t choices : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}, kEveryone}) {
      if (policy == SelectionPolicy::hash && choices != 1) {
        std::printf(" |");
        continue;
      }
      const Spread s = spread(policy, choices, servers);
      std::printf(" %.2f to %.2f |", s.least, s.most);
    }
    std::printf("\n");
  }
}

void print_loads(const char* title, const Servers& servers, std::initializer_list<SelectionPolicy> policies) {
  for (const SelectionPolicy policy : policies) {
    std::printf("| %zu %s | `%s` |", servers.weights.size(), title, std::string(to_string(policy)).c_str());
    for (const std::size_t choices : {std::size_t{1}, std::size_t{2}, std::size_t{3}, kEveryone}) {
      if ((policy == SelectionPolicy::hash) != (choices == 1)) {
        std::printf(" |");
        continue;
      }
      const Load load = load_over_time(policy, choices, servers);
      std::printf(" %.0f %%, %.0f %%, %.1f %% |", 100 * load.mean_of_highest, 100 * load.highest, 100 * load.overloaded);
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  using enum SelectionPolicy;
  std::printf("| servers | policy | choices 1 | 2 | 3 | 8 | all |\n|---|---|---|---|---|---|---|\n");
  for (const std::size_t count : {std::size_t{8}, std::size_t{40}}) {
    print_spreads("equal", equal_servers(count), {hash, round_robin, SelectionPolicy::random});
    print_spreads("weighted", weighted_servers(count, true), {hash, weighted_round_robin, weighted_random});
    print_spreads("weighted, ranked alike", weighted_servers(count, false), {weighted_round_robin});
  }
  std::printf("\n| servers | policy | choices 1 | 2 | 3 | all |\n|---|---|---|---|---|---|\n");
  print_loads("equal", equal_servers(8), {hash, round_robin, SelectionPolicy::random});
  for (const auto& [title, servers] : {std::pair("equal", equal_servers(8)), std::pair("of unlike capacity", uneven_servers(8)),
                                       std::pair("of unlike capacity", uneven_servers(40))}) {
    print_loads(title, servers, {least_used, least_used_degradation, priority_least_used, randomized_least_used});
    if (title != std::string("equal")) print_loads(title, servers, {hash, round_robin});
  }
  return 0;
}
