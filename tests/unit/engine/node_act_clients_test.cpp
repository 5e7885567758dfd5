// SPDX-License-Identifier: BSD-3-Clause
#include "engine/node_act_clients.hpp"

#include <doctest/doctest.h>

#include "support/builders.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::ActClients;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const IpAddress kOne = address("10.0.0.1");
const IpAddress kTwo = address("10.0.0.2");
const TimePoint kStart = TimePoint{} + seconds(1000);

ActClients clients() {
  ActClients all(1u << 10, 42);
  all.set_options(engine::NatOptions{});
  return all;
}

}  // namespace

TEST_CASE("a client is held for one with a holder until the contrary is seen") {
  ActClients all = clients();
  CHECK_FALSE(all.has_no_holder(kStart, kOne));
  CHECK(all.unreachable(kStart, kOne));
  CHECK(all.has_no_holder(kStart, kOne));
  CHECK_FALSE(all.has_no_holder(kStart, kTwo));
  CHECK_FALSE(all.unreachable(kStart + seconds(30), kOne));  // no news, but from now on
  CHECK(all.has_no_holder(kStart + seconds(89), kOne));
  CHECK_FALSE(all.has_no_holder(kStart + seconds(90), kOne));
  CHECK(all.unreachable(kStart + seconds(90), kOne));
  CHECK(all.heard(kStart + seconds(91), kOne));
  CHECK_FALSE(all.has_no_holder(kStart + seconds(91), kOne));
  CHECK_FALSE(all.heard(kStart + seconds(92), kOne));
}

TEST_CASE("three silences in a row tell as much as an error") {
  ActClients all = clients();
  CHECK_FALSE(all.silent(kStart, kOne));
  CHECK_FALSE(all.silent(kStart, kOne));
  CHECK_FALSE(all.heard(kStart, kOne));
  CHECK_FALSE(all.silent(kStart, kOne));
  CHECK_FALSE(all.silent(kStart, kOne));
  CHECK_FALSE(all.silent(kStart, kTwo));
  CHECK(all.silent(kStart, kOne));
  CHECK(all.has_no_holder(kStart, kOne));
  CHECK_FALSE(all.has_no_holder(kStart, kTwo));
}

TEST_CASE("questions and answers have their rates") {
  ActClients all = clients();
  for (int i = 0; i < 10; ++i) {
    CHECK(all.may_query(kStart, kOne));
    CHECK(all.take_query(kStart, kOne));
  }
  CHECK_FALSE(all.may_query(kStart, kOne));
  CHECK_FALSE(all.take_query(kStart, kOne));
  CHECK(all.may_query(kStart, kTwo));
  CHECK(all.may_query(kStart + milliseconds(100), kOne));
  int answered = 0;
  for (int i = 0; i < 200; ++i) answered += all.take_hello(kStart, kOne);
  CHECK(answered == 100);
  CHECK(all.take_hello(kStart, kTwo));
}
