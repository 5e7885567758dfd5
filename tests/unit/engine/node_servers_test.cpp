// SPDX-License-Identifier: BSD-3-Clause
// Which server a new session gets when health, drain, load and the policy have a say; and that recoveries don't ask them.
#include <algorithm>
#include <map>
#include <set>

#include "asrp/policy/query_list.hpp"
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::AllDown;
using engine::ServerState;
using policy::SelectionPolicy;
using wire::MsgType;

namespace {

constexpr const char* kVip = "198.51.100.1:80";

engine::NodeOptions pool_options(SelectionPolicy policy = SelectionPolicy::hash, std::size_t ranks = 2) {
  engine::NodeOptions options = basic_options();
  for (engine::Service& service : options.services) {
    service.pool = service.name == "web" ? "farm" : "farm6";
    service.policy = policy;
    service.ranks = ranks;
  }
  return options;
}

Endpoint client(int n) { return {address("203.0.113.7"), static_cast<std::uint16_t>(20000 + n)}; }
Tuple flow(int n) { return {client(n), endpoint(kVip), Protocol::tcp}; }
Buffer syn(int n) { return tcp(client(n), endpoint(kVip)).syn().build(); }
Buffer segment(int n) { return tcp(client(n), endpoint(kVip)).seq(7).payload(hex("41")).build(); }

/// The number of the server, 10.0.0.N.
int number_of(const Endpoint& server) { return server.address.octets()[3]; }
int server_of(const NodeScript& s, int n) {
  const engine::FlowEntry* entry = s.flows.entry(flow(n));
  return entry == nullptr ? 0 : number_of(entry->tuples.server_side.dst);
}
int place(NodeScript& s, int n) {
  s.packet(Tap::first, syn(n));
  return server_of(s, n);
}

/// All ranks of a flow in that pool, best first.
std::vector<int> ranks_of(const engine::NodeOptions& options, int n) {
  std::vector<policy::PoolServer> servers;
  for (const engine::Backend& b : options.services[0].backends) servers.push_back({b.id, b.weight, true, true});
  const policy::Pool pool(servers, options.placement_key, {}, 2);
  std::vector<std::uint16_t> ranks(servers.size());
  ranks.resize(pool.ranks(flow(n), ranks));
  std::vector<int> numbers;
  for (const std::uint16_t r : ranks) numbers.push_back(number_of(options.services[0].backends[r].address));
  return numbers;
}

std::string id(int number) { return "s" + std::to_string(number); }
void set(NodeScript& s, int number, ServerState state) { CHECK(s.engine.on_server_state(s.now, "farm", id(number), state)); }

/// Whom the node asks about a packet without a session, in order.
std::vector<int> asked(NodeScript& s, int n) {
  std::vector<int> numbers;
  for (const Out& out : s.packet(Tap::stray, segment(n))) {
    const auto d = datagram(out);
    if (d && d->message.type == MsgType::QS) numbers.push_back(number_of({d->to.address, 0}));
  }
  return numbers;
}

}  // namespace

TEST_CASE("a new session goes to the first usable server of the query list, of what is usable behind it, or nowhere") {
  for (const ServerState state : {ServerState::down, ServerState::drained}) {
    const auto options = pool_options();
    NodeScript s(options);
    for (int n = 0; n < 40; ++n) {
      const auto ranks = ranks_of(options, n);
      for (int out = 0; out < 4; ++out) {
        const auto outside = s.counter(NodeCounter::sessions_outside_list);
        CHECK(place(s, 10 * n + out) == ranks_of(options, 10 * n + out)[0]);
        s.flows.entries.clear();
        for (int i = 0; i < out; ++i) set(s, ranks[static_cast<std::size_t>(i)], state);
        s.advance(seconds(6));
        CHECK(place(s, n) == ranks[static_cast<std::size_t>(out)]);
        CHECK(s.counter(NodeCounter::sessions_outside_list) - outside == (out >= 2));
        s.flows.entries.clear();
        for (int i = 1; i <= 4; ++i) set(s, i, ServerState::usable);
        s.advance(seconds(6));
      }
    }
    CHECK(s.counter(NodeCounter::sessions_all_down) == 0);
  }
}

TEST_CASE("with every server down, new sessions go to the first rank as if none were, or are dropped") {
  auto options = pool_options();
  for (const AllDown all_down : {AllDown::first, AllDown::drop}) {
    options.services[0].all_down = all_down;
    NodeScript s(options);
    for (int i = 1; i <= 4; ++i) set(s, i, ServerState::down);
    for (int n = 0; n < 20; ++n) {
      const int expected = all_down == AllDown::first ? ranks_of(options, n)[0] : 0;
      CHECK(place(s, n) == expected);
    }
    const std::uint64_t placed = all_down == AllDown::first ? 20 : 0;
    CHECK(s.counter(NodeCounter::sessions_all_down) == placed);
    CHECK(s.counter(NodeCounter::drops_no_backend) == 20 - placed);
    CHECK(s.counter(NodeCounter::sessions_outside_list) == 0);
  }
}

TEST_CASE("what the operator has taken out stays out when all others are down; with all taken out new sessions are dropped") {
  const auto options = pool_options();
  NodeScript s(options);
  for (int n = 0; n < 30; ++n) {
    const auto ranks = ranks_of(options, n);
    for (int i = 1; i <= 4; ++i) set(s, i, ServerState::down);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n % 4); ++i) set(s, ranks[i], ServerState::drained);
    CHECK(place(s, n) == ranks[static_cast<std::size_t>(n % 4)]);
  }
  CHECK(s.counter(NodeCounter::sessions_all_down) == 30);
  CHECK(s.counter(NodeCounter::sessions_outside_list) == 14);  // n % 4 is 2 or 3
  for (int i = 1; i <= 4; ++i) set(s, i, ServerState::drained);
  CHECK(place(s, 100) == 0);
  CHECK(s.counter(NodeCounter::drops_no_backend) == 1);
}

TEST_CASE("recoveries ask the same servers in the same order, whatever health, drain and load say [spec 3.5.3-1]") {
  NodeScript plain(pool_options());
  NodeScript other(pool_options());
  set(other, 1, ServerState::down);
  set(other, 3, ServerState::drained);
  other.engine.on_load(other.now, "farm", "s2", 0xffffffff);
  for (int n = 0; n < 50; ++n) {
    const auto first = asked(plain, n);
    CHECK(first.size() == 2);
    CHECK(asked(other, n) == first);
  }
}

TEST_CASE("a session at a server that is down or drained is recovered there") {
  for (const ServerState state : {ServerState::down, ServerState::drained}) {
    NodeScript s(pool_options());
    const int owner = ranks_of(s.engine.options(), 3)[0];
    set(s, owner, state);
    const auto outs = s.packet(Tap::stray, segment(3));
    for (const Out& out : outs) {
      const auto d = datagram(out);
      if (!d || d->message.type != MsgType::QS) continue;
      const TuplePair session{flow(3), {client(3), {d->to.address, 8080}, Protocol::tcp}};
      s.message(answer_from(*d), "192.0.2.10", number_of({d->to.address, 0}) == owner ? rs_to(*d, session) : rx_to(*d));
    }
    CHECK(server_of(s, 3) == owner);
  }
}

TEST_CASE(
    "a SYN again stays with its session, unless that server is down, its holder silent, and another is usable (decision 6)") {
  const auto options = pool_options();
  NodeScript s(options);
  const auto ranks = ranks_of(options, 5);
  CHECK(place(s, 5) == ranks[0]);
  s.advance(seconds(1));
  set(s, ranks[0], ServerState::drained);  // its session is an old one
  CHECK(place(s, 5) == ranks[0]);
  CHECK(s.counter(NodeCounter::sessions_again) == 1);
  s.advance(seconds(2));
  set(s, ranks[0], ServerState::down);
  CHECK(place(s, 5) == ranks[0]);  // the holder answers: the check may be wrong, the SYN a late copy
  s.advance(seconds(2));
  s.answer_probes = false;
  s.port_unreachable("10.0.0." + std::to_string(ranks[0]));
  CHECK(place(s, 5) == ranks[1]);
  CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
  s.advance(seconds(4));
  for (int i = 1; i <= 4; ++i) set(s, i, ServerState::down);
  CHECK(place(s, 5) == ranks[1]);
  CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
  s.advance(seconds(6));
  s.port_unreachable("10.0.0." + std::to_string(ranks[1]));  // but where all are down, no other is better
  CHECK(place(s, 5) == ranks[1]);
  CHECK(s.counter(NodeCounter::sessions_replaced) == 1);
}

TEST_CASE("without full NAT a session that a server outside of the list refuses ends: nobody would look for it elsewhere") {
  auto options = pool_options();
  NodeScript s(options);
  const auto ranks = ranks_of(options, 8);
  for (std::size_t i = 0; i < 2; ++i) set(s, ranks[i], ServerState::down);
  CHECK(place(s, 8) == ranks[2]);
  const TuplePair tuples = s.flows.entry(flow(8))->tuples;
  const Buffer refusal =
      nc(tuples).cookie(policy::keyed_cookie(options.cookie_keys.sign, tuples).value).protocol(Protocol::tcp).build();
  CHECK(s.message({tuples.server_side.dst.address, 51200}, "192.0.2.10", refusal).empty());
  CHECK(s.flows.entries.empty());
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
}

TEST_CASE("without full NAT a refused session goes to another usable server of the query list, each once") {
  auto options = pool_options(SelectionPolicy::round_robin, 4);
  NodeScript s(options);
  set(s, ranks_of(options, 8)[1], ServerState::down);
  std::set<int> tried{place(s, 8)};
  for (int refusals = 1; refusals <= 3; ++refusals) {
    const engine::FlowEntry* entry = s.flows.entry(flow(8));
    REQUIRE(entry != nullptr);
    const TuplePair tuples = entry->tuples;
    const Buffer refusal =
        nc(tuples).cookie(policy::keyed_cookie(options.cookie_keys.sign, tuples).value).protocol(Protocol::tcp).build();
    s.message({tuples.server_side.dst.address, 51200}, "192.0.2.10", refusal);
    if (refusals < 3) {
      CHECK(tried.insert(server_of(s, 8)).second);
    } else {
      CHECK(server_of(s, 8) == 0);
    }
  }
  CHECK(tried.size() == 3);
  CHECK(tried.count(ranks_of(options, 8)[1]) == 0);
  CHECK(s.counter(NodeCounter::drops_mapping) == 1);
}

TEST_CASE("with full NAT the next port is one at the same server, also where the policy would move on") {
  auto options = full_nat_options();
  options.services[0].policy = SelectionPolicy::round_robin;
  options.services[0].ranks = 3;
  NodeScript s(options);
  const int server = place(s, 9);
  for (int refusals = 1; refusals <= 4; ++refusals) {
    const TuplePair tuples = s.flows.entry(flow(9))->tuples;
    const Buffer refusal =
        nc(tuples).cookie(policy::keyed_cookie(options.cookie_keys.sign, tuples).value).protocol(Protocol::tcp).build();
    s.message({tuples.server_side.dst.address, 51200}, "192.0.2.10", refusal);
    REQUIRE(s.flows.entry(flow(9)) != nullptr);
    CHECK(server_of(s, 9) == server);
    CHECK(s.flows.entry(flow(9))->tuples.server_side.src != tuples.server_side.src);
  }
}

TEST_CASE("each policy chooses among the flow's first ranks only, and a recovery asks all of these") {
  for (std::uint8_t number = 0; number < policy::kSelectionPolicyCount; ++number) {
    const auto policy = static_cast<SelectionPolicy>(number);
    CAPTURE(policy::to_string(policy));
    const auto options = pool_options(policy, 3);
    NodeScript s(options);
    std::set<std::size_t> ranks_used;
    for (int n = 0; n < 200; ++n) {
      const auto ranks = ranks_of(options, n);
      const auto at = std::find(ranks.begin(), ranks.end(), place(s, n)) - ranks.begin();
      CHECK(at < 3);
      ranks_used.insert(static_cast<std::size_t>(at));
    }
    const bool by_rank = policy == SelectionPolicy::hash || policy == SelectionPolicy::priority;
    CHECK(ranks_used.size() == (by_rank ? 1 : 3));
    CHECK(s.counter(NodeCounter::sessions_outside_list) == 0);
    const auto list = asked(s, 500);
    const auto ranks = ranks_of(options, 500);
    CHECK(list == std::vector<int>(ranks.begin(), ranks.begin() + 3));
  }
}

TEST_CASE("weights place new sessions only by a policy that goes by them; 0 takes none by any") {
  for (const SelectionPolicy policy : {SelectionPolicy::weighted_round_robin, SelectionPolicy::round_robin}) {
    auto options = pool_options(policy, 3);
    options.services[0].backends[0].weight = 0;
    options.services[0].backends[1].weight = 6;
    NodeScript s(options);
    std::map<int, int> count;
    for (int n = 0; n < 800; ++n) ++count[place(s, n)];
    CHECK(count.count(1) == 0);
    const bool weighted = policy == SelectionPolicy::weighted_round_robin;
    const int expected = weighted ? 600 : 267;
    CHECK(std::abs(count[2] - expected) <= 8);
  }
}

TEST_CASE("the highest priority that is usable gets everything, and spreads by rank") {
  auto options = pool_options(SelectionPolicy::priority, 2);
  options.services[0].backends[1].priority = options.services[0].backends[2].priority = 10;
  options.services[0].backends[3].priority = 5;
  NodeScript s(options);
  std::map<int, int> count;
  for (int n = 0; n < 200; ++n) ++count[place(s, n)];
  CHECK(count[2] + count[3] == 200);
  CHECK(count[2] > 60);
  CHECK(count[3] > 60);
  set(s, 2, ServerState::down);
  for (int n = 200; n < 220; ++n) CHECK(place(s, n) == 3);
  set(s, 3, ServerState::drained);
  for (int n = 220; n < 240; ++n) CHECK(place(s, n) == 4);
  CHECK(s.counter(NodeCounter::sessions_outside_list) == 20);
}

TEST_CASE("least used goes by the loads reported, for as long as a report counts") {
  auto options = pool_options(SelectionPolicy::least_used, 4);
  options.timing.load_age = seconds(3);
  NodeScript s(options);
  for (int i = 1; i <= 4; ++i) CHECK(s.engine.on_load(s.now, "farm", id(i), i == 3 ? 10 : 1000));
  for (int n = 0; n < 20; ++n) CHECK(place(s, n) == 3);
  s.advance(seconds(3));
  CHECK(place(s, 20) == 3);
  s.advance(milliseconds(1));
  std::set<int> others;
  for (int n = 30; n < 40; ++n) others.insert(place(s, n));
  CHECK(others.size() == 4);  // no load is known: round robin
}

TEST_CASE("only configured servers of the pool that is named can change") {
  NodeScript s(pool_options());
  CHECK_FALSE(s.engine.on_server_state(s.now, "farm", "s9", ServerState::down));
  CHECK_FALSE(s.engine.on_server_state(s.now, "another", "s1", ServerState::down));
  CHECK_FALSE(s.engine.on_load(s.now, "farm", "s", 1));
  CHECK_FALSE(s.engine.on_load(s.now, "", "s1", 1));
  for (int i = 1; i <= 4; ++i) CHECK(s.engine.on_server_state(s.now, "farm6", id(i), ServerState::drained));
  CHECK(place(s, 1) == ranks_of(s.engine.options(), 1)[0]);
  s.packet(Tap::first, tcp("[2001:db8::7]:5000", "[2001:db8:1::1]:80").syn().build());
  CHECK(s.counter(NodeCounter::drops_no_backend) == 1);
}

TEST_CASE("a server's state holds for every service of its pool, and stays when the node is reconfigured") {
  auto options = pool_options();
  engine::Service second = options.services[0];
  second.name = "web-alt";
  second.address = endpoint("198.51.100.1:81");
  NodeScript s(options);
  const int first = ranks_of(options, 2)[0];
  set(s, first, ServerState::down);
  options.services.push_back(second);
  s.reconfigure(options);
  s.reconfigure(options);
  CHECK(place(s, 2) == ranks_of(options, 2)[1]);
  s.packet(Tap::first, tcp(client(2), endpoint("198.51.100.1:81")).syn().build());
  const engine::FlowEntry* alt = s.flows.entry({client(2), endpoint("198.51.100.1:81"), Protocol::tcp});
  REQUIRE(alt != nullptr);
  CHECK(number_of(alt->tuples.server_side.dst) != first);
  // One that leaves and comes back is a new one.
  auto without = options;
  for (engine::Service& service : without.services)
    std::erase_if(service.backends, [&](const engine::Backend& b) { return b.id == id(first); });
  s.reconfigure(without);
  s.reconfigure(options);
  s.flows.entries.clear();
  s.advance(seconds(6));
  CHECK(place(s, 2) == first);
}

TEST_CASE("a rotation goes on over a reconfigure, as far as its policy is the same") {
  auto options = pool_options(SelectionPolicy::round_robin, 4);
  NodeScript s(options);
  NodeScript other(options);
  std::vector<int> sequence;
  std::vector<int> interrupted;
  for (int n = 0; n < 16; ++n) {
    sequence.push_back(place(other, n));
    interrupted.push_back(place(s, n));
    if (n % 3 == 0) s.reconfigure(options);
  }
  CHECK(interrupted == sequence);
  for (std::size_t i = 4; i < sequence.size(); ++i) CHECK(sequence[i] == sequence[i - 4]);
  options.services[0].policy = SelectionPolicy::hash;
  s.reconfigure(options);
  CHECK(place(s, 50) == ranks_of(options, 50)[0]);
}

TEST_CASE("loads stay over a reconfigure, also where a report counts for another time") {
  auto options = pool_options(SelectionPolicy::least_used, 4);
  NodeScript s(options);
  for (int i = 1; i <= 4; ++i) s.engine.on_load(s.now, "farm", id(i), i == 2 ? 1 : 5);
  options.timing.load_age = seconds(60);
  s.reconfigure(options);
  s.advance(seconds(59));
  for (int n = 0; n < 8; ++n) CHECK(place(s, n) == 2);
}

TEST_CASE("loads stay when the pool gets another policy, and count for a service that comes, or gets another name") {
  auto options = pool_options(SelectionPolicy::round_robin, 4);
  NodeScript s(options);
  for (int i = 1; i <= 4; ++i) s.engine.on_load(s.now, "farm", id(i), i == 2 ? 1 : 5);
  options.services[0].policy = SelectionPolicy::least_used;
  s.reconfigure(options);
  for (int n = 0; n < 8; ++n) CHECK(place(s, n) == 2);
  options.services[0].name = "web under another name";
  options.services.push_back(options.services[0]);
  options.services.back().name = "further";
  options.services.back().address.port = 8080;
  s.reconfigure(options);
  CHECK(place(s, 8) != 0);
  options.services[0].name = "web";
  s.reconfigure(options);
  for (int n = 10; n < 18; ++n) {
    const Endpoint further = endpoint("198.51.100.1:8080");
    s.packet(Tap::first, tcp(client(n), further).syn().build());
    const engine::FlowEntry* entry = s.flows.entry({client(n), further, Protocol::tcp});
    REQUIRE(entry != nullptr);
    CHECK(number_of(entry->tuples.server_side.dst) == 2);
  }
}

TEST_CASE("UDP: the silence of servers that are down counts as RX, at the end of the recovery (decision 12)") {
  auto options = udp_options();
  options.services[0].pool = "farm";
  const Endpoint service = endpoint("198.51.100.1:53");
  for (const int down : {0, 1, 2}) {
    NodeScript s(options);
    const auto outs = s.packet(Tap::stray, udp(client(1), service).payload(hex("41")).build());
    std::vector<int> list;
    for (const Out& out : outs) {
      if (const auto d = datagram(out)) list.push_back(number_of({d->to.address, 0}));
    }
    REQUIRE(list.size() == 2);
    for (int i = 0; i < down; ++i) set(s, list[static_cast<std::size_t>(i)], ServerState::down);
    s.advance(milliseconds(399));
    CHECK(s.flows.entries.empty());  // it may have a holder that answers yet
    s.advance(milliseconds(2));
    CHECK(s.flows.entries.size() == (down == 2 ? 1 : 0));
    CHECK(s.counter(NodeCounter::drops_silence) == (down == 2 ? 0 : 1));
  }
}

TEST_CASE("where all servers are drained a SYN again stays with its session, and a new one begins none (decision 6)") {
  const auto options = pool_options();
  NodeScript s(options);
  const int server = place(s, 5);
  s.advance(seconds(6));
  for (int i = 1; i <= 4; ++i) set(s, i, ServerState::drained);
  CHECK(kinds(s.packet(Tap::first, syn(5))) == "replace");
  CHECK(server_of(s, 5) == server);
  CHECK(kinds(s.packet(Tap::first, syn(6))) == "drop");
  CHECK(s.counter(NodeCounter::drops_no_backend) == 1);
}
