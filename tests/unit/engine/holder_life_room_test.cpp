// SPDX-License-Identifier: BSD-3-Clause
// Who makes room in a full store.
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

using std::chrono::seconds;

/// Room for three, and three UDP flows; of these 1 has ended here, and 0 after it.
struct FullLab : HolderLab {
  static TuplePair udp_number(int i) { return nat_session("203.0.113.9:" + std::to_string(1000 + i), Protocol::udp); }
  static engine::HolderOptions room_for_three() {
    auto options = default_options();
    options.max_backups = 3;
    return options;
  }
  FullLab() : HolderLab(room_for_three()) {
    for (int i = 0; i < 3; ++i) test::store(*this, udp_number(i), LocalState::live);
    wait(seconds(2));
    for (const int i : {1, 0}) {
      sessions.known.erase(udp_number(i).server_side);
      ended(udp_number(i).server_side);
      wait(seconds(1));
    }
  }
};

TEST_CASE("a full store: flows that have ended here give way, the one that would go first before others; sessions never") {
  FullLab lab;
  store(lab, nat_session("203.0.113.7:1"), LocalState::live);
  CHECK(!lab.knows(FullLab::udp_number(1).client_side));
  CHECK(lab.knows(FullLab::udp_number(0).client_side));
  store(lab, nat_session("203.0.113.7:2"), LocalState::live);
  CHECK(!lab.knows(FullLab::udp_number(0).client_side));
  CHECK(lab.count(HolderCounter::released_gave_way) == 2);
  const TuplePair refused = nat_session("203.0.113.7:3");
  CHECK(lab.in(syn_with(refused, ns_of(refused))).burst().size() == 1);
  CHECK(lab.count(HolderCounter::store_full) == 1);
  CHECK(lab.knows(FullLab::udp_number(2).client_side));
}

TEST_CASE("a full store: of the flows that could give way no more do than the burst needs, and those that would go first") {
  FullLab lab;
  const TuplePair added = nat_session("203.0.113.7:1");
  lab.in(with_message(datagram_of(FullLab::udp_number(2)), ns_of(FullLab::udp_number(2)).build()));  // is there already
  lab.in(syn_with(added, ns_of(added))).burst();
  CHECK(lab.count(HolderCounter::released_gave_way) == 1);
  CHECK(lab.backups() == 3);
  CHECK(!lab.knows(FullLab::udp_number(1).client_side));
  CHECK(lab.knows(FullLab::udp_number(0).client_side));
  CHECK(lab.knows(added.client_side));
}

TEST_CASE("a full store: as many flows give way as the burst has new ones, each of them for one") {
  FullLab lab;
  const TuplePair one = nat_session("203.0.113.7:1");
  const TuplePair two = nat_session("203.0.113.7:2");
  lab.in(syn_with(one, ns_of(one))).in(syn_with(two, ns_of(two))).burst();
  CHECK(lab.count(HolderCounter::released_gave_way) == 2);
  CHECK(lab.count(HolderCounter::store_full) == 0);
  CHECK(lab.knows(one.client_side));
  CHECK(lab.knows(two.client_side));
  CHECK(lab.knows(FullLab::udp_number(2).client_side));
}

TEST_CASE("a store that is fuller than it may be: a burst looks up no more flows than it has new ones") {
  FullLab lab;
  auto fewer = HolderLab::default_options();
  fewer.max_backups = 1;
  lab.start(fewer);
  lab.wait(seconds(200));
  for (int i = 0; i < 3; ++i) {
    lab.sessions.known.erase(FullLab::udp_number(i).server_side);
    lab.ended(FullLab::udp_number(i).server_side);
  }
  lab.wait(seconds(1));
  REQUIRE(lab.backups() == 3);
  const auto looked_up = lab.count(HolderCounter::sessions_looked_up);
  const TuplePair added = nat_session("203.0.113.7:1");
  lab.in(syn_with(added, ns_of(added))).burst();
  CHECK(lab.count(HolderCounter::sessions_looked_up) == looked_up + 1);
}

TEST_CASE("a full store: what could have given way in an earlier burst and didn't is looked at again") {
  FullLab lab;
  const TuplePair one = nat_session("203.0.113.7:1");
  const TuplePair two = nat_session("203.0.113.7:2");
  const TuplePair again = FullLab::udp_number(0);
  const TuplePair ends = FullLab::udp_number(2);
  lab.in(with_message(datagram_of(ends), ns_of(ends).build()));  // is there already
  lab.in(syn_with(one, ns_of(one))).burst();
  lab.sessions.known[one.server_side] = LocalState::live;
  lab.in(with_message(datagram_of(again), ns_of(again).build())).burst();
  lab.sessions.known[again.server_side] = LocalState::live;
  lab.wait(seconds(2));
  for (const TuplePair& session : {ends, again}) {
    lab.sessions.known.erase(session.server_side);
    lab.ended(session.server_side);
    lab.wait(seconds(1));
  }
  lab.sessions.known[again.server_side] = LocalState::live;  // a node still has it
  store(lab, two, LocalState::live);
  CHECK(!lab.knows(ends.client_side));
  CHECK(lab.knows(again.client_side));
  CHECK(lab.knows(two.client_side));
}

TEST_CASE("a full store: a flow that goes on after its end here does not give way") {
  auto options = HolderLab::default_options();
  options.max_backups = 1;
  for (const LocalState again : {LocalState::live, LocalState::opening}) {
    HolderLab lab(options);
    store(lab, udp_session(), LocalState::live);
    lab.wait(seconds(2));
    lab.sessions.known.erase(udp_session().server_side);
    lab.ended(udp_session().server_side);
    lab.wait(seconds(1));
    lab.sessions.known[udp_session().server_side] = again;  // a node still has it, and needs no new NS
    const TuplePair refused = nat_session("203.0.113.7:3");
    CHECK(lab.in(syn_with(refused, ns_of(refused))).burst().size() == 1);
    CHECK(lab.count(HolderCounter::store_full) == 1);
    CHECK(lab.knows(udp_session().client_side));
    lab.sessions.known[udp_session().server_side] = LocalState::live;
    lab.wait(seconds(400));
    CHECK(lab.knows(udp_session().client_side));
  }
}

TEST_CASE("a full store: a flow that begins anew does not give way to others of its burst") {
  auto options = HolderLab::default_options();
  options.max_backups = 1;
  HolderLab lab(options);
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(2));
  lab.sessions.known.clear();
  lab.ended(udp_session().server_side);
  const TuplePair refused = nat_session("203.0.113.7:3");
  lab.in(with_message(datagram_of(udp_session()), ns_of(udp_session()).build()));
  lab.in(syn_with(refused, ns_of(refused))).burst();
  CHECK(lab.count(HolderCounter::store_full) == 1);
  CHECK(lab.knows(udp_session().client_side));
}

}  // namespace
}  // namespace asrp::test
