// SPDX-License-Identifier: BSD-3-Clause
// The files of a node's state_dir, of which one comes from another node: epochs.json, epochs.given.json, drain.json and
// ranges.json.
#include <string>
#include <vector>

#include "asrp/policy/query_list.hpp"
#include "asrpd-node/drain.hpp"
#include "asrpd-node/past_ranges.hpp"
#include "asrpd-node/state.hpp"
#include "fuzz/support/fuzz_target.hpp"

namespace asrp::fuzz {
namespace {

using node::State;

node::NodeConfig some_config() {
  node::NodeConfig config;
  config.placement_key.value = {1, 2, 3};
  node::PoolConfig pool;
  pool.name = "web";
  for (const char* id : {"s1", "s2"}) {
    engine::Backend server;
    server.id = id;
    server.address = {IpAddress::v4(0x0a000201), 80};
    pool.servers.push_back(server);
  }
  config.pools.push_back(pool);
  return config;
}

/// What of it a node adopts: bounds, and lists of candidates of at least those that are configured.
void check_adopted(const State& state, const node::NodeConfig& config) {
  FUZZ_CHECK(state.size() == 1);
  FUZZ_CHECK(state[0].past.size() <= node::kMaxPastEpochs);
  std::size_t members = 0;
  std::vector<policy::Epoch> past;
  for (const node::PastEpoch& each : state[0].past) {
    members += each.epoch.members.size();
    FUZZ_CHECK(each.epoch != state[0].current);
    past.push_back(each.epoch);
  }
  FUZZ_CHECK(members <= node::kMaxPastMembers);
  std::vector<policy::PoolServer> servers;
  for (const engine::Backend& server : config.pools[0].servers) servers.push_back({server.id, server.weight});
  const policy::Pool pool(servers, config.placement_key.value, past, 2);
  const Tuple flow{{IpAddress::v4(0xc6336409), 40000}, {IpAddress::v4(0xc0000250), 80}, Protocol::tcp};
  const policy::QueryList list = pool.query(flow);
  FUZZ_CHECK(list.count == servers.size());
}

void check_epochs(const std::string& own, const std::string& given) {
  const auto state = node::parse_state(own);
  const auto told = node::parse_state(given);
  for (const auto& each : {state, told}) {
    if (each) FUZZ_CHECK(node::parse_state(node::state_json(*each)) == each);
  }
  const node::NodeConfig config = some_config();
  constexpr node::BeginTime kNow = 1'800'000'000'000;
  const State before = state.value_or(State{});
  const State next = node::next_state(before, config, kNow);
  check_adopted(next, config);
  FUZZ_CHECK(node::next_state(next, config, kNow + 1) == next);  // the same reload again changes nothing
  if (!told) return;
  const State merged = node::next_state(node::merged_state(next, *told), config, kNow);
  check_adopted(merged, config);
  FUZZ_CHECK(node::next_state(node::merged_state(merged, *told), config, kNow) == merged);  // nor does the same gift
}

void check_drains(const std::string& text) {
  const auto drains = node::parse_drains(text);
  if (!drains) return;
  FUZZ_CHECK(node::parse_drains(node::drains_json(*drains)) == drains);
  const node::Drains next = node::next_drains(*drains, some_config());
  FUZZ_CHECK(next.node == drains->node);
  FUZZ_CHECK(next.servers.size() <= 2);
}

void check_ranges(const std::string& text) {
  const auto ranges = node::parse_ranges(text);
  if (!ranges) return;
  const std::string written = node::ranges_json(*ranges);
  const auto again = node::parse_ranges(written);
  FUZZ_CHECK(again && node::ranges_json(*again) == written);
  FUZZ_CHECK(ranges->past.size() <= node::kMaxPastRanges);
  // What is read is what the engine takes; the same ranges as today's are no change.
  for (const node::FormerRanges& each : ranges->past) FUZZ_CHECK(policy::PortRanges::check(each.ranges).empty());
  if (!ranges->current) return;
  node::NatConfig nat;
  nat.settings.ranges = ranges->current->ranges;
  nat.names = ranges->current->names;
  const node::RangesState next = node::next_ranges(*ranges, nat, 1'800'000'000'000);
  FUZZ_CHECK(next.current->began == ranges->current->began);
  FUZZ_CHECK(node::ranges_json(node::next_ranges(next, nat, 1'800'000'000'001)) == node::ranges_json(next));
}

}  // namespace

/// An octet 0 ends the first file.
int one_input(Octets input) {
  const std::string text(input.begin(), input.end());
  const std::size_t end = text.find('\0');
  const std::string first = text.substr(0, end);
  check_epochs(first, end == std::string::npos ? std::string() : text.substr(end + 1));
  check_drains(first);
  check_ranges(first);
  return 0;
}

}  // namespace asrp::fuzz
