// SPDX-License-Identifier: BSD-3-Clause
// Runs of the simulator. A failure names its seed; ASRP_SIM_SEED=N plays only that one, ASRP_SIM_RUNS=N more than the usual.
#include <doctest/doctest.h>

#include "sim/seeds.hpp"
#include "sim/world.hpp"

namespace asrp::sim {
namespace {

Result play(Plan plan, std::uint64_t seed) {
  plan.seed = seed;
  const Result result = World(plan).run();
  MESSAGE("seed ", seed, ": ", result.done, " of ", plan.sessions, " sessions done, ", result.without_backup,
          " without backup, ", result.excused, " excused, ", result.moved, " restored, ", result.foretold, " foretold, ",
          result.outside_list, " outside the list, ", result.errors, " errors, ", result.events, " events");
  CAPTURE(seed);
  CHECK(result.foretold > plan.sessions / 2);
  if (plan.impairment.error_per_mille != 0) CHECK(result.errors > plan.sessions / 50);
  for (const std::string& problem : result.problems) FAIL_CHECK("seed " << seed << ": " << problem);
  CHECK(result.problem_count == 0);
  // Sessions that began while their holder was away have no backup, and the faults that follow may end them.
  CHECK(result.done >= plan.sessions * 95 / 100);
  CHECK(result.without_backup <= plan.sessions / 20);
  CHECK(result.excused <= plan.sessions / (plan.decides_alike() ? 100 : 40));
  return result;
}

TEST_CASE("nothing goes wrong when nothing goes wrong") {
  Plan plan;
  plan.sessions = 500;
  plan.impairment = {};
  plan.node_deaths = plan.node_restarts = plan.table_flushes = plan.reshuffles = plan.pool_changes = plan.holder_restarts = 0;
  for (const std::uint64_t seed : seeds(1, 1)) play(plan, seed);
}

TEST_CASE("nat, asymmetric paths: every session with a backup survives all faults") {
  Plan plan;
  plan.sessions = 1000;
  for (const std::uint64_t seed : seeds(100, 3)) play(plan, seed);
}

TEST_CASE("nat, symmetric paths") {
  Plan plan;
  plan.sessions = 1000;
  plan.symmetric_paths = true;
  for (const auto routing : {engine::Routing::asymmetric, engine::Routing::symmetric}) {
    plan.routing = routing;
    for (const std::uint64_t seed : seeds(200, 1)) play(plan, seed);
  }
}

TEST_CASE("full NAT with few ports: mappings collide, sessions do not") {
  Plan plan;
  plan.sessions = 1000;
  plan.forward = engine::ForwardMode::full_nat;
  for (const std::uint64_t seed : seeds(300, 3)) play(plan, seed);
}

TEST_CASE("explicit UDP packets: each may begin a session, and one request gets one answer") {
  Plan plan;
  plan.sessions = 1000;
  plan.udp_percent = 80;
  plan.explicit_first = engine::ExplicitFirst::any;
  for (const auto forward : {engine::ForwardMode::nat, engine::ForwardMode::full_nat}) {
    plan.forward = forward;
    for (const std::uint64_t seed : seeds(500, 2)) play(plan, seed);
  }
}

TEST_CASE("every other session uses the port of one that has ended") {
  Plan plan;
  plan.sessions = 1000;
  plan.reuse_percent = 50;
  for (const auto forward : {engine::ForwardMode::nat, engine::ForwardMode::full_nat}) {
    plan.forward = forward;
    for (const std::uint64_t seed : seeds(600, 2)) play(plan, seed);
  }
}

TEST_CASE("nodes that differ in health, drain and one reload recover each other's sessions (decision 11)") {
  Plan plan;
  plan.sessions = 1000;
  plan.state_changes = 120;
  std::size_t outside_list = 0;
  for (const auto forward : {engine::ForwardMode::nat, engine::ForwardMode::full_nat}) {
    plan.forward = forward;
    for (const std::uint64_t seed : seeds(700, 2)) outside_list += play(plan, seed).outside_list;
  }
  CHECK(outside_list > 0);
}

TEST_CASE("whatever the policy: nodes that choose on their own recover each other's sessions") {
  Plan plan;
  plan.sessions = 500;
  plan.state_changes = 40;
  plan.load_reports = 400;
  for (std::uint8_t number = 1; number < policy::kSelectionPolicyCount; ++number) {
    plan.policy = static_cast<policy::SelectionPolicy>(number);
    plan.forward = number % 2 == 0 ? engine::ForwardMode::nat : engine::ForwardMode::full_nat;
    for (const std::uint64_t seed : seeds(800 + number, 1)) play(plan, seed);
  }
}

TEST_CASE("ten thousand sessions") {
  Plan plan;
  plan.sessions = 10'000;
  plan.full_nat_ports = 20'000;
  for (const auto forward : {engine::ForwardMode::nat, engine::ForwardMode::full_nat}) {
    plan.forward = forward;
    for (const std::uint64_t seed : seeds(400, 1)) play(plan, seed);
  }
}

}  // namespace
}  // namespace asrp::sim
