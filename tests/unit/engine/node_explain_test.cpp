// SPDX-License-Identifier: BSD-3-Clause
// What explain() says, step by step; that it agrees with what is done, packet by packet, the simulator checks.
#include <algorithm>
#include <set>

#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Explanation;
using engine::ServerState;
using engine::Step;
using policy::SelectionPolicy;

namespace {

const Tuple kFlow = tcp_tuple("203.0.113.7:50000", "198.51.100.1:80");

engine::NodeOptions options_of(SelectionPolicy policy, std::size_t ranks) {
  auto options = basic_options();
  options.services[0].pool = "farm";
  options.services[0].policy = policy;
  options.services[0].ranks = ranks;
  return options;
}

Buffer syn() { return tcp("203.0.113.7:50000", "198.51.100.1:80").syn().build(); }
Buffer segment() { return tcp("203.0.113.7:50000", "198.51.100.1:80").seq(5).payload(hex("41")).build(); }
Explanation explain(NodeScript& s, bool begins = true) { return s.engine.explain(s.now, kFlow, begins); }

const Explanation::Candidate* chosen(const Explanation& e) {
  const auto it = std::find_if(e.choices.begin(), e.choices.end(), [](const auto& c) { return c.is_chosen; });
  return it == e.choices.end() ? nullptr : &*it;
}

std::vector<std::string> names(const std::vector<Explanation::Candidate>& list) {
  std::vector<std::string> ids;
  for (const auto& c : list) ids.push_back(c.server);
  return ids;
}

}  // namespace

TEST_CASE("a SYN: where it would go, and explaining changes nothing") {
  NodeScript s(options_of(SelectionPolicy::hash, 2));
  const Explanation told = explain(s);
  CHECK(told.step == Step::create);
  CHECK(told.service == "web");
  CHECK(told.pool == "farm");
  REQUIRE(told.choices.size() == 2);
  CHECK(told.choices[0].is_chosen);
  CHECK(told.choices[0].reason == "chosen");
  CHECK(told.choices[1].rank == 1);
  CHECK(told.choices[1].reason == "usable, behind the one that is chosen");
  CHECK(told.mapping == kFlow.src);
  CHECK(told.choices[0].holder_answered);
  CHECK_FALSE(told.choices[0].holder_gone);
  CHECK(s.flows.entries.empty());
  CHECK(s.engine.outbox().outputs().empty());
  CHECK(s.counter(NodeCounter::packets_first) == 0);
  s.packet(Tap::first, syn());
  CHECK(s.flows.entries.at(0).tuples.server_side.dst == told.choices[0].address);
  CHECK(explain(s).step == Step::again);
  CHECK(explain(s).entry->tuples == s.flows.entries.at(0).tuples);
  CHECK(explain(s, false).step == Step::known);
}

TEST_CASE("why servers are passed over") {
  NodeScript s(options_of(SelectionPolicy::hash, 3));
  const auto ranks = names(explain(s).choices);
  REQUIRE(ranks.size() == 3);
  s.engine.on_server_state(s.now, "farm", ranks[0], ServerState::down);
  s.engine.on_server_state(s.now, "farm", ranks[1], ServerState::drained);
  Explanation told = explain(s);
  CHECK(told.choices[0].reason == "held for down by health checks");
  CHECK(told.choices[1].reason == "drained by the operator");
  CHECK(chosen(told) == &told.choices[2]);
  CHECK(names(told.candidates)[0] == ranks[0]);  // is asked as before
  s.engine.on_server_state(s.now, "farm", ranks[2], ServerState::down);
  told = explain(s);
  REQUIRE(told.choices.size() == 4);
  CHECK(chosen(told) == &told.choices[3]);
  CHECK(told.choices[3].reason == "the next rank that is usable: none of the list is");
  CHECK(told.outside_list);
  CHECK_FALSE(told.all_down);
  s.engine.on_server_state(s.now, "farm", told.choices[3].server, ServerState::down);
  told = explain(s);
  CHECK(told.step == Step::create);
  CHECK(told.all_down);
  CHECK(chosen(told) == &told.choices[0]);
  CHECK(told.choices[0].reason == "every server is held for down: the first one, as if none were");
  for (int i = 1; i <= 4; ++i) s.engine.on_server_state(s.now, "farm", "s" + std::to_string(i), ServerState::drained);
  told = explain(s);
  CHECK(told.step == Step::no_server);
  CHECK(chosen(told) == nullptr);
  CHECK_FALSE(told.mapping);
}

TEST_CASE("a rotation's next turn is told and not used up; what chance decides is said to be open") {
  NodeScript rotation(options_of(SelectionPolicy::round_robin, 4));
  for (int n = 0; n < 6; ++n) {
    const auto first = explain(rotation);
    const auto second = explain(rotation);
    REQUIRE(chosen(first) != nullptr);
    CHECK(chosen(first)->server == chosen(second)->server);
    CHECK_FALSE(first.by_chance);
    rotation.packet(Tap::first, syn());
    CHECK(rotation.flows.entries.at(0).tuples.server_side.dst == chosen(first)->address);
    rotation.flows.entries.clear();
    rotation.advance(seconds(6));
  }
  NodeScript drawn(options_of(SelectionPolicy::random, 3));
  const auto told = explain(drawn);
  CHECK(told.step == Step::create);
  CHECK(told.by_chance);
  CHECK(chosen(told) == nullptr);
  for (const auto& c : told.choices) CHECK(c.reason == "can be drawn");
}

TEST_CASE("loads count as long as a report does") {
  NodeScript s(options_of(SelectionPolicy::least_used, 4));
  for (int i = 1; i <= 4; ++i) s.engine.on_load(s.now, "farm", "s" + std::to_string(i), static_cast<std::uint32_t>(100 * i));
  Explanation told = explain(s);
  REQUIRE(chosen(told) != nullptr);
  CHECK(chosen(told)->server == "s1");
  CHECK(chosen(told)->load == 100);
  s.advance(seconds(6));
  told = explain(s);
  CHECK_FALSE(told.choices[0].load);
}

TEST_CASE("a segment without a session: who is asked, and who is not") {
  auto options = basic_options();
  options.services[0].backends[1].holder = engine::HolderPresence::no;
  options.services[0].backends[2].address = endpoint("10.0.0.1:8081");  // on the host of s1
  options.services[0].ranks = 4;
  NodeScript s(options);
  const Explanation told = explain(s, false);
  CHECK(told.step == Step::ask_candidates);
  CHECK(told.choices.empty());
  REQUIRE(told.candidates.size() == 4);
  std::set<std::string> asked;
  for (const auto& c : told.candidates) {
    if (c.round == 1) asked.insert(c.address.address.to_string());
    if (c.server == "s2") CHECK(c.reason == "not asked: it has no holder");
    if (c.server == "s2") CHECK(c.round == 0);
    CHECK(c.epoch == 0);
    CHECK_FALSE(c.coming);
  }
  CHECK(asked == std::set<std::string>{"10.0.0.1", "10.0.0.4"});
  std::vector<IpAddress> queried;
  for (const Out& out : s.packet(Tap::stray, segment())) {
    if (const auto d = datagram(out)) queried.push_back(d->to.address);
  }
  CHECK(queried.size() == 2);
  CHECK(explain(s, false).step == Step::join_recovery);
}

TEST_CASE("candidates have the epoch and the rank that they are asked for") {
  auto options = basic_options();
  options.services[0].backends.resize(3);
  options.services[0].backends[2].state = engine::BackendState::joining;
  options.services[0].past_epochs = {{{{"s1", 1}, {"s2", 1}, {"s3", 1}, {"gone", 5}}, key_of(0x33)},
                                     {{{"s3", 1}}, key_of(0x11)}};
  NodeScript s(options);
  std::set<std::size_t> epochs;
  bool any_coming = false;
  for (std::uint16_t port = 1; port < 200; ++port) {
    Tuple flow = kFlow;
    flow.src.port = port;
    const Explanation told = s.engine.explain(s.now, flow, false);
    for (const auto& c : told.candidates) {
      CHECK((c.server == "s3") == (c.epoch != 0 || c.coming));
      CHECK(c.rank < 2);
      any_coming = any_coming || c.coming;
      if (c.server == "s3") epochs.insert(c.epoch);
    }
  }
  CHECK(any_coming);
  CHECK(epochs.count(1) + epochs.count(2) > 0);
}

TEST_CASE("what is refused, and what belongs to nobody") {
  NodeScript s(basic_options());
  CHECK(s.engine.explain(s.now, tcp_tuple("203.0.113.7:1", "198.51.100.9:80"), true).step == Step::no_service);
  s.engine.set_table_pressure(true);
  CHECK(explain(s).step == Step::refuse);
  s.flows.add({kFlow, {kFlow.src, endpoint("10.0.0.1:8080"), Protocol::tcp}});
  CHECK(explain(s).step == Step::again);
  auto options = basic_options();
  options.local_ips = {address("192.0.2.10")};
  options.limits.recoveries = 1;
  NodeScript t(options);
  CHECK(t.engine.explain(t.now, tcp_tuple("[2001:db8::7]:5000", "[2001:db8:1::1]:80"), false).step == Step::no_local_address);
  t.packet(Tap::stray, segment());
  CHECK(t.engine.explain(t.now, tcp_tuple("203.0.113.8:1", "198.51.100.1:80"), false).step == Step::too_many);
}

TEST_CASE("a server's packet: the server is asked, if it has a holder") {
  auto options = basic_options();
  options.services[0].backends[1].holder = engine::HolderPresence::no;
  NodeScript s(options);
  Explanation told = s.engine.explain(s.now, tcp_tuple("10.0.0.1:8080", "203.0.113.7:50000"), false);
  CHECK(told.step == Step::ask_sender);
  CHECK(told.service == "web");
  REQUIRE(told.candidates.size() == 1);
  CHECK(told.candidates[0].server == "s1");
  CHECK(told.candidates[0].round == 1);
  told = s.engine.explain(s.now, tcp_tuple("10.0.0.2:8080", "203.0.113.7:50000"), false);
  CHECK(told.candidates[0].round == 0);
  CHECK(told.candidates[0].reason == "not asked: it has no holder");
}

TEST_CASE("a SYN in a region that has changed its owner asks the former one first") {
  auto options = basic_options();
  NodeScript s(options);
  s.reconfigure(with_another_key(options));
  int asks = 0;
  for (std::uint16_t port = 1; port < 60; ++port) {
    const Tuple flow{{address("203.0.113.7"), port}, endpoint("198.51.100.1:80"), Protocol::tcp};
    const Explanation told = s.engine.explain(s.now, flow, true);
    CHECK((told.step == Step::ask_former_owner) == told.owner_changed);
    if (told.step != Step::ask_former_owner) continue;
    ++asks;
    const auto outs = s.packet(Tap::first, tcp(flow.src, flow.dst).syn().build());
    REQUIRE(kinds(outs) == "send_own:QS drop");
    const auto d = datagram(outs[0]);
    CHECK(told.candidates.size() == 1);
    CHECK(d->to.address == told.candidates[0].address.address);
    CHECK(told.candidates[0].reason == "asked: the former owner of the hash region");
  }
  CHECK(asks > 20);
  s.advance(seconds(121));
  CHECK(s.engine.explain(s.now, kFlow, true).step == Step::create);
}
