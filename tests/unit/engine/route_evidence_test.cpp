// SPDX-License-Identifier: BSD-3-Clause
#include "engine/route_evidence.hpp"

#include <doctest/doctest.h>

#include <chrono>

using namespace asrp;
using engine::RouteEvidence;
using State = RouteEvidence::State;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const TimePoint kStart{std::chrono::hours(1)};

/// The route's tries go out one by one and none is answered.
void fail_all(RouteEvidence& evidence, std::uint32_t route, TimePoint now) {
  while (evidence.state(route) != State::absent) {
    evidence.sent(route, now);
    evidence.unanswered(route);
  }
}

}  // namespace

TEST_CASE("a new route is unknown: eight HS may go, and no more while none is decided") {
  RouteEvidence evidence;
  CHECK(evidence.state(1) == State::unknown);
  unsigned sent = 0;
  for (; evidence.may_begin(1, kStart); ++sent) evidence.sent(1, kStart);
  CHECK(sent == 8);
  CHECK(evidence.state(1) == State::unknown);
  evidence.abandoned(1);  // nobody waits for this one
  CHECK(evidence.may_begin(1, kStart));
}

TEST_CASE("the eighth HS without an answer makes a route absent, not the seventh") {
  RouteEvidence evidence;
  for (unsigned n = 1; n <= 8; ++n) {
    evidence.sent(1, kStart);
    CHECK(evidence.unanswered(1) == (n == 8));
    CHECK(evidence.state(1) == (n == 8 ? State::absent : State::unknown));
  }
  CHECK_FALSE(evidence.may_begin(1, kStart));
}

TEST_CASE("on an absent route one first packet in a hundred has an HS, and at most one a minute") {
  RouteEvidence evidence;
  fail_all(evidence, 1, kStart);
  SUBCASE("few packets: after a hundred") {
    const TimePoint late = kStart + minutes(10);
    for (int n = 1; n < 100; ++n) CHECK_FALSE(evidence.may_begin(1, late));
    CHECK(evidence.may_begin(1, late));
    evidence.sent(1, late);
    evidence.unanswered(1);
    CHECK(evidence.state(1) == State::absent);
    CHECK_FALSE(evidence.may_begin(1, late + minutes(10)));
  }
  SUBCASE("many packets: after a minute") {
    for (int n = 0; n < 5000; ++n) CHECK_FALSE(evidence.may_begin(1, kStart + seconds(59)));
    CHECK(evidence.may_begin(1, kStart + seconds(60)));
  }
}

TEST_CASE("an answer proves a route, also an absent one and one that comes late; what is in flight does not count against it") {
  RouteEvidence evidence;
  fail_all(evidence, 1, kStart);
  CHECK(evidence.answered(1, false));
  CHECK(evidence.state(1) == State::proven);
  CHECK_FALSE(evidence.answered(1, false));  // no news
  for (int n = 0; n < 1000; ++n) {
    CHECK(evidence.may_begin(1, kStart));
    evidence.sent(1, kStart);
  }
  CHECK(evidence.state(1) == State::proven);
}

TEST_CASE("a proven route whose gateway falls silent is absent after eight in a row; an answer between begins the count anew") {
  RouteEvidence evidence;
  evidence.sent(1, kStart);
  evidence.answered(1, true);
  for (int n = 0; n < 7; ++n) {
    evidence.sent(1, kStart);
    evidence.unanswered(1);
  }
  evidence.answered(1, false);
  for (int n = 0; n < 7; ++n) {
    evidence.sent(1, kStart);
    CHECK_FALSE(evidence.unanswered(1));
  }
  CHECK(evidence.unanswered(1));
  CHECK(evidence.state(1) == State::absent);
}

TEST_CASE("routes know nothing of each other, and only the latest are remembered") {
  RouteEvidence evidence;
  fail_all(evidence, 1, kStart);
  CHECK(evidence.state(2) == State::unknown);
  for (std::uint32_t route = 2; route <= 300; ++route) evidence.sent(route, kStart);
  const auto totals = evidence.totals();
  CHECK(totals.unknown == 256);
  CHECK(totals.absent == 0);
  CHECK_FALSE(evidence.answered(1, true));  // forgotten: an answer that late proves nothing
  CHECK(evidence.state(1) == State::unknown);
}
