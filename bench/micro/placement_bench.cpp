// SPDX-License-Identifier: BSD-3-Clause
// Placement in pools of ten and of ten thousand servers: rows that were asked for before (warm) and others (cold), for a new
// session (ranks) and for a recovery (query, with one past epoch). To compare warm ones, run them in turns several times:
//   bench-micro --benchmark_filter='placement' --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "asrp/policy/query_list.hpp"

namespace {

using namespace asrp;
using namespace asrp::policy;

constexpr std::uint32_t kFlows = 4096;

std::vector<PoolServer> servers(std::int64_t count) {
  std::vector<PoolServer> list;
  for (std::int64_t i = 0; i < count; ++i)
    list.push_back({"server-" + std::to_string(i), 1 + static_cast<std::uint32_t>(i % 3)});
  return list;
}

Pool pool_of(std::int64_t count) {
  const auto now = servers(count);
  Epoch past;
  for (const PoolServer& s : now) past.members.push_back({s.id, 1});
  return Pool(now, HashKey{1}, std::vector{past}, 2);
}

Tuple flow(std::uint32_t n) {
  return {{IpAddress::v4(0xcb007100u + n / 1000), static_cast<std::uint16_t>(1024 + n % 1000)},
          {IpAddress::v4(0xc6336401u), 80},
          Protocol::tcp};
}

void placement_ranks_warm(benchmark::State& state) {
  const Pool pool = pool_of(state.range(0));
  std::uint16_t ranks[2];
  for (std::uint32_t n = 0; n < kFlows; ++n) pool.ranks(flow(n), ranks);
  std::uint32_t n = 0;
  for (auto _ : state) benchmark::DoNotOptimize(pool.ranks(flow(n++ % kFlows), ranks));
}
BENCHMARK(placement_ranks_warm)->Arg(10)->Arg(10000);

void placement_query_warm(benchmark::State& state) {
  const Pool pool = pool_of(state.range(0));
  for (std::uint32_t n = 0; n < kFlows; ++n) benchmark::DoNotOptimize(pool.query(flow(n)));
  std::uint32_t n = 0;
  for (auto _ : state) benchmark::DoNotOptimize(pool.query(flow(n++ % kFlows)));
}
BENCHMARK(placement_query_warm)->Arg(10)->Arg(10000);

/// Each row once; a pool has 65 536.
void placement_ranks_cold(benchmark::State& state) {
  Epoch epoch{{}, HashKey{1}};
  for (const PoolServer& s : servers(state.range(0))) epoch.members.push_back({s.id, s.weight});
  const Ranking ranking(epoch, 16);
  std::uint16_t ranks[2];
  std::uint16_t row = 0;
  for (auto _ : state) benchmark::DoNotOptimize(ranking.top(row++, ranks));
}
BENCHMARK(placement_ranks_cold)->Arg(10)->Arg(10000)->Iterations(30000);

/// The first usable rank where the list has none: half of the servers are down.
void placement_best_of(benchmark::State& state) {
  const Pool pool = pool_of(state.range(0));
  std::vector<std::uint8_t> usable(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < usable.size(); ++i) usable[i] = i % 2;
  std::uint32_t n = 0;
  for (auto _ : state) benchmark::DoNotOptimize(pool.best_of(flow(n++ % kFlows), usable));
}
BENCHMARK(placement_best_of)->Arg(10)->Arg(10000);

}  // namespace
