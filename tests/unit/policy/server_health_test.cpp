// SPDX-License-Identifier: BSD-3-Clause
#include "asrp/policy/server_health.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::policy;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const TimePoint kStart{seconds(1000)};

HealthOptions options(std::uint32_t rise, std::uint32_t fall, std::uint32_t flaps = 0) {
  HealthOptions out;
  out.interval = seconds(10);
  out.jitter = 0;
  out.rise = rise;
  out.fall = fall;
  out.flaps = flaps;
  return out;
}

char letter(HealthState state) { return "?UDd"[static_cast<int>(state)]; }

/// Results ('+' and '-'), one each second, and the state after each.
std::string states(ServerHealth& health, const std::string& results, TimePoint& now) {
  std::string out;
  for (const char each : results) {
    now += seconds(1);
    health.on_result(now, each == '+', 0);
    out += letter(health.state());
  }
  return out;
}

std::string states(const HealthOptions& how, const std::string& results) {
  ServerHealth health(how, kStart, 0);
  TimePoint now = kStart;
  return states(health, results, now);
}

/// One fall and one rise with fall = rise = 1.
void flap(ServerHealth& health, TimePoint now) {
  health.on_result(now, false, 0);
  health.on_result(now, true, 0);
}

}  // namespace

TEST_CASE("health: rise and fall, a table") {
  struct Row {
    std::uint32_t rise, fall;
    const char* results;
    const char* states;
  };
  for (const Row& row : {
           Row{2, 3, "+", "U"},                        // the first result decides alone
           Row{2, 3, "-", "D"},                        //
           Row{2, 3, "+---", "UUUD"},                  // three bad ones
           Row{2, 3, "+--+--+---", "UUUUUUUUUD"},      // in a row
           Row{2, 3, "-++", "DDU"},                    // two good ones
           Row{2, 3, "-+-+-++", "DDDDDDU"},            // in a row
           Row{1, 1, "+-+-", "UDUD"},                  //
           Row{4, 1, "-++++-++++", "DDDDUDDDDU"},      //
           Row{2, 3, "+---++---++", "UUUDDUUUDDU"},    // counts begin anew with each state
           Row{2, 3, "+---+---+-++", "UUUDDDDDDDDU"},  // bad ones of a server that is down count for nothing later
       }) {
    CAPTURE(row.results);
    CHECK(states(options(row.rise, row.fall), row.results) == row.states);
  }
}

TEST_CASE("health: who has not been checked counts as well, who is down or damped does not; since when") {
  ServerHealth health(options(1, 1, 2), kStart, 0);
  CHECK(health.usable());
  CHECK(health.since() == kStart);
  health.on_result(kStart + seconds(1), true, 0);
  CHECK(health.usable());
  CHECK(health.since() == kStart + seconds(1));
  health.on_result(kStart + seconds(2), true, 0);
  CHECK(health.since() == kStart + seconds(1));
  health.on_result(kStart + seconds(3), false, 0);
  CHECK_FALSE(health.usable());
  CHECK(health.since() == kStart + seconds(3));
  CHECK(health.falls() == 1);
  health.on_result(kStart + seconds(3), true, 0);
  health.on_result(kStart + seconds(3), false, 0);
  health.on_result(kStart + seconds(3), true, 0);
  CHECK(health.state() == HealthState::damped);
  CHECK_FALSE(health.usable());
  for (const auto& [state, name] : {std::pair{HealthState::unchecked, "unchecked"},
                                    {HealthState::up, "up"},
                                    {HealthState::down, "down"},
                                    {HealthState::damped, "damped"}})
    CHECK(to_string(state) == name);
}

TEST_CASE("health: the n-th fall in quick succession damps, slow ones never do") {
  for (std::uint32_t flaps = 2; flaps <= 6; ++flaps) {
    ServerHealth health(options(1, 1, flaps), kStart, 0);
    health.on_result(kStart, true, 0);
    for (std::uint32_t fall = 1; fall <= flaps; ++fall) {
      CHECK(health.state() == HealthState::up);
      flap(health, kStart + milliseconds(fall));
    }
    CHECK(health.state() == HealthState::damped);
    CHECK(health.falls() == flaps);
  }
  // Three falls, one half-life apart: 1, 1.5, 1.75, never above 2.
  ServerHealth slow(options(1, 1, 3), kStart, 0);
  slow.on_result(kStart, true, 0);
  for (int i = 0; i < 1000; ++i) {
    flap(slow, kStart + i * seconds(60));
    CHECK(slow.state() == HealthState::up);
  }
  ServerHealth never(options(1, 1, 0), kStart, 0);
  never.on_result(kStart, true, 0);
  for (int i = 0; i < 1000; ++i) {
    flap(never, kStart);
    CHECK(never.state() == HealthState::up);
  }
}

TEST_CASE("health: a damped server is back when its penalty is half the limit, two half-lives after its last fall at most") {
  ServerHealth health(options(1, 1, 3), kStart, 0);
  health.on_result(kStart, true, 0);
  for (int i = 0; i < 3; ++i) flap(health, kStart);  // 3: to half of the limit 2 takes log2(3) half-lives of 60 s
  CHECK(health.state() == HealthState::damped);
  health.on_result(kStart + milliseconds(95'000), true, 0);
  CHECK(health.state() == HealthState::damped);
  health.on_result(kStart + milliseconds(95'200), true, 0);
  CHECK(health.state() == HealthState::up);

  ServerHealth wild(options(1, 1, 3), kStart, 0);
  TimePoint now = kStart;
  wild.on_result(now, true, 0);
  for (int i = 0; i < 200; ++i) {
    flap(wild, now);
    // While it is damped no fall counts; as soon as it is up again the next one does.
    now += seconds(1);
  }
  TimePoint back = now;
  while (wild.state() != HealthState::up) wild.on_result(back += seconds(1), true, 0);
  CHECK(back - now <= seconds(2 * 60 + 1));
  CHECK(wild.falls() < 10);
}

TEST_CASE("health: damped and bad is down; what rises while the penalty is high is damped again, not up") {
  ServerHealth health(options(2, 2, 2), kStart, 0);
  TimePoint now = kStart;
  CHECK(states(health, "+--++--++", now) == "UUDDUUDDd");
  CHECK(states(health, "+-+--++", now) == "ddddDDd");
  CHECK(health.falls() == 2);
  now += seconds(600);
  CHECK(states(health, "+", now) == "U");
}

TEST_CASE("health: without damping from now on, a damped server is up at its next good result") {
  ServerHealth health(options(1, 1, 2), kStart, 0);
  health.on_result(kStart, true, 0);
  flap(health, kStart);
  flap(health, kStart);
  CHECK(health.state() == HealthState::damped);
  health.set_options(options(1, 1, 0));
  health.on_result(kStart, true, 0);
  CHECK(health.state() == HealthState::up);
}

TEST_CASE("health: with fewer flaps from now on, the penalty is no more than they can make it") {
  ServerHealth health(options(1, 1, 50), kStart, 0);
  health.on_result(kStart, true, 0);
  for (int i = 0; i < 49; ++i) flap(health, kStart);
  health.set_options(options(1, 1, 2));
  flap(health, kStart);
  CHECK(health.state() == HealthState::damped);
  health.on_result(kStart + seconds(160), true, 0);  // 3 to 0.5: log2(6) half-lives of 60 s
  CHECK(health.state() == HealthState::up);
}

TEST_CASE("health: first checks spread over the interval, later ones within the jitter; both ends are reached") {
  HealthOptions how = options(2, 3);
  how.interval = milliseconds(1000);
  how.jitter = 20;
  test::SeededRandom random(7);
  Duration first_low = how.interval;
  Duration first_high{};
  Duration low = 2 * how.interval;
  Duration high{};
  for (int i = 0; i < 2000; ++i) {
    ServerHealth health(how, kStart, random.u64());
    first_low = std::min(first_low, health.due() - kStart);
    first_high = std::max(first_high, health.due() - kStart);
    health.on_result(kStart, i % 2 == 0, random.u64());
    low = std::min(low, health.due() - kStart);
    high = std::max(high, health.due() - kStart);
  }
  CHECK(first_low >= Duration::zero());
  CHECK(first_low < milliseconds(10));
  CHECK(first_high <= how.interval);
  CHECK(first_high > milliseconds(990));
  CHECK(low >= milliseconds(800));
  CHECK(low < milliseconds(805));
  CHECK(high <= milliseconds(1200));
  CHECK(high > milliseconds(1195));
  how.jitter = 0;
  ServerHealth exact(how, kStart, 0);
  exact.on_result(kStart, true, random.u64());
  CHECK(exact.due() == kStart + how.interval);
}

TEST_CASE("health: a hint brings the next check forward, is no result, and brings four an interval at most") {
  ServerHealth health(options(2, 3), kStart, ~std::uint64_t{0});
  health.on_result(kStart, true, 0);
  for (int i = 0; i < 100; ++i) health.on_hint(kStart + milliseconds(10));
  CHECK(health.state() == HealthState::up);
  CHECK(health.due() == kStart + milliseconds(2500));
  health.on_result(kStart + milliseconds(2500), true, 0);
  CHECK(health.due() == kStart + milliseconds(12500));
  health.on_hint(kStart + milliseconds(2510));
  CHECK(health.due() == kStart + milliseconds(5000));  // from the last result, not the first
  health.on_result(kStart + milliseconds(2500), true, 0);
  health.on_hint(kStart + milliseconds(9000));
  CHECK(health.due() == kStart + milliseconds(9000));
  // None puts it off.
  health.on_hint(kStart + milliseconds(9500));
  CHECK(health.due() == kStart + milliseconds(9000));
}
