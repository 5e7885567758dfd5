// SPDX-License-Identifier: BSD-3-Clause
#include "engine/server_choice.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/node_fakes.hpp"

using namespace asrp;
using namespace asrp::engine;
using namespace asrp::test;
using policy::MemberSelector;
using policy::SelectionPolicy;

namespace {

constexpr TimePoint kNow = TimePoint{} + std::chrono::seconds(1);

/// A service of six servers with a query list of three.
struct Choosing {
  explicit Choosing(SelectionPolicy policy = SelectionPolicy::hash) {
    service.address = endpoint("198.51.100.1:80");
    service.policy = policy;
    service.ranks = 3;
    for (int i = 0; i < 6; ++i)
      service.backends.push_back(backend("s" + std::to_string(i), "10.0.0." + std::to_string(i + 1) + ":80"));
    state.emplace(service, key_of(1));
    state->selector = std::make_unique<MemberSelector>(policy, random, std::chrono::seconds(5));
    std::vector<policy::SelectionMember> members;
    for (const Backend& b : service.backends) members.push_back({b.id, 1, 0, 0, true});
    state->selector->set_members(members);
    ranks.resize(6);
    state->pool.ranks(flow, ranks);
  }
  std::optional<ServerChoice> choose(RankSet tried = 0) { return choose_server(*state, *state->selector, kNow, flow, tried); }
  void set(std::size_t rank, ServerState to) { state->set_state(ranks[rank], to); }

  Service service;
  FakeRandom random;
  std::optional<ServiceState> state;
  Tuple flow{endpoint("203.0.113.7:5000"), endpoint("198.51.100.1:80"), Protocol::tcp};
  std::vector<std::uint16_t> ranks;
};

}  // namespace

TEST_CASE("servers that have refused are left out, and what follows is one of the list or nothing") {
  Choosing c;
  CHECK(c.choose()->backend == c.ranks[0]);
  CHECK(c.choose(0b001)->backend == c.ranks[1]);
  CHECK(c.choose(0b010)->backend == c.ranks[0]);
  CHECK(c.choose(0b011)->backend == c.ranks[2]);
  CHECK_FALSE(c.choose(0b111));
  c.set(2, ServerState::down);
  CHECK_FALSE(c.choose(0b011));
  for (std::size_t rank = 0; rank < 6; ++rank) c.set(rank, ServerState::down);
  CHECK(c.choose(0b001)->backend == c.ranks[1]);
  CHECK(c.choose(0b001)->all_down);
  CHECK_FALSE(c.choose(0b111));
  c.set(1, ServerState::drained);
  CHECK(c.choose(0b001)->backend == c.ranks[2]);
  CHECK_FALSE(c.choose(0b101));
}

TEST_CASE("behind the list: the next rank that is usable, said to be outside") {
  Choosing c;
  for (std::size_t rank = 0; rank < 5; ++rank) {
    const auto choice = c.choose();
    REQUIRE(choice);
    CHECK(choice->backend == c.ranks[rank]);
    CHECK(choice->outside_list == (rank >= 3));
    CHECK_FALSE(choice->all_down);
    c.set(rank, rank % 2 == 0 ? ServerState::down : ServerState::drained);
  }
  c.set(5, ServerState::drained);  // 0, 2, 4 are down
  CHECK(c.choose()->backend == c.ranks[0]);
  CHECK(c.choose()->all_down);
  CHECK_FALSE(c.choose()->outside_list);
  c.set(0, ServerState::drained);
  c.set(2, ServerState::drained);
  CHECK(c.choose()->backend == c.ranks[4]);
  CHECK(c.choose()->all_down);
  CHECK(c.choose()->outside_list);
  c.set(4, ServerState::drained);
  CHECK_FALSE(c.choose());
  c.set(1, ServerState::usable);
  CHECK(c.choose()->backend == c.ranks[1]);
  CHECK_FALSE(c.choose()->all_down);
}

TEST_CASE("with all_down = drop nothing is chosen of servers that are all down") {
  Choosing c;
  c.service.all_down = AllDown::drop;
  for (std::size_t rank = 0; rank < 6; ++rank) c.set(rank, ServerState::down);
  CHECK_FALSE(c.choose());
  c.set(4, ServerState::usable);
  CHECK(c.choose()->backend == c.ranks[4]);
}

TEST_CASE("a server outside the list has had its turn like any other") {
  for (const bool chosen_before : {false, true}) {
    Choosing c(SelectionPolicy::round_robin);
    // Of those that had no turn yet, the one whose id comes first has it.
    const std::uint16_t early = std::min(c.ranks[3], c.ranks[4]);
    const std::uint16_t late = std::max(c.ranks[3], c.ranks[4]);
    for (std::uint16_t b = 0; b < 6; ++b) {
      if (b != early) c.state->set_state(b, ServerState::drained);
    }
    if (chosen_before) {
      const auto choice = c.choose();
      REQUIRE(choice);
      CHECK(choice->outside_list);
      CHECK(choice->backend == early);
    }
    c.state->set_state(late, ServerState::usable);
    const std::uint16_t pair[] = {early, late};
    CHECK(c.state->selector->choose(kNow, pair) == (chosen_before ? late : early));
  }
}

TEST_CASE("a copy of the selector chooses the same and leaves the account as it was") {
  Choosing c(SelectionPolicy::round_robin);
  for (int n = 0; n < 10; ++n) {
    MemberSelector copy = *c.state->selector;
    const auto told = choose_server(*c.state, copy, kNow, c.flow, 0);
    const auto done = c.choose();
    REQUIRE(told);
    REQUIRE(done);
    CHECK(told->backend == done->backend);
  }
}

TEST_CASE("a server's rank in the query list is a bit; one outside has none") {
  Choosing c;
  const auto at = [&](std::size_t rank) { return rank_of(*c.state, c.flow, c.service.backends[c.ranks[rank]].address); };
  CHECK(at(0) == 1);
  CHECK(at(1) == 2);
  CHECK(at(2) == 4);
  CHECK(at(3) == 0);
  CHECK(rank_of(*c.state, c.flow, endpoint("10.9.9.9:80")) == 0);
}

TEST_CASE("states set and set again count a server once; of a disabled, joining or weightless one nothing follows") {
  Choosing c;
  c.service.backends[c.ranks[1]].state = BackendState::joining;
  c.service.backends[c.ranks[2]].state = BackendState::disabled;
  c.service.backends[c.ranks[3]].weight = 0;
  ServiceState state(c.service, key_of(1));
  CHECK(state.usable_count == 3);
  for (std::uint16_t b = 0; b < 6; ++b) state.set_state(b, ServerState::down);
  for (std::uint16_t b = 0; b < 6; ++b) state.set_state(b, ServerState::drained);
  CHECK(state.usable_count == 0);
  for (std::uint16_t b = 0; b < 6; ++b) state.set_state(b, ServerState::usable);
  for (std::uint16_t b = 0; b < 6; ++b) state.set_state(b, ServerState::usable);
  CHECK(state.usable_count == 3);
  CHECK(state.usable[c.ranks[0]] == 1);
  for (const std::size_t rank : {1u, 2u, 3u}) {
    CHECK(state.usable[c.ranks[rank]] == 0);
    CHECK(state.undrained[c.ranks[rank]] == 0);
  }
}

TEST_CASE("servers are found by id and by address; a host is down when all that it serves is") {
  Choosing c;
  c.service.backends.push_back(backend("another", "10.0.0.1:81"));
  ServiceState state(c.service, key_of(1));
  CHECK(state.backend_of("s3") == 3);
  CHECK(state.backend_of("another") == 6);
  CHECK_FALSE(state.backend_of("s"));
  CHECK_FALSE(state.backend_of("t"));
  CHECK(state.backend_at(endpoint("10.0.0.1:81")) == 6);
  CHECK(state.backend_at(endpoint("10.0.0.4:80")) == 3);
  CHECK_FALSE(state.backend_at(endpoint("10.0.0.4:81")));
  CHECK_FALSE(state.is_down(address("10.0.0.1")));
  state.set_state(0, ServerState::down);
  CHECK_FALSE(state.is_down(address("10.0.0.1")));
  state.set_state(6, ServerState::down);
  CHECK(state.is_down(address("10.0.0.1")));
  state.set_state(6, ServerState::drained);
  CHECK_FALSE(state.is_down(address("10.0.0.1")));
  c.service.backends[6].state = BackendState::disabled;
  CHECK(state.is_down(address("10.0.0.1")));
  CHECK_FALSE(state.is_down(address("10.0.0.9")));
  CHECK_FALSE(state.is_down(address("10.0.0.2")));
}
