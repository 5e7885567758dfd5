// SPDX-License-Identifier: BSD-3-Clause
// The index of mappings between workers, the kernel's reports of ends, and looks through the table: order and races.
#include "asrpd-node/mappings.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <thread>

#include "asrpd-node/mapped_flows.hpp"
#include "support/act_script.hpp"
#include "support/seeded_random.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::Filtering;
using engine::InstallResult;
using engine::NatOptions;
using node::MappedFlows;
using node::Mappings;

namespace {

constexpr Protocol kUdp = Protocol::udp;
constexpr TimePoint kStart{std::chrono::seconds(1000)};

/// A kernel's table that tells of the ends of its entries. One at a time may use it.
class Kernel final : public engine::FlowTable {
 public:
  void install(std::span<const engine::Flow> flows, std::span<InstallResult> results) override {
    const std::lock_guard lock(mutex);
    table.install(flows, results);
  }
  std::optional<engine::FlowEntry> find(const Tuple& tuple) override {
    const std::lock_guard lock(mutex);
    return table.find(tuple);
  }
  void remove(const Tuple& client_side) override {
    const std::lock_guard lock(mutex);
    if (const auto* entry = table.entry(client_side)) ends.push_back(entry->tuples);
    table.remove(client_side);
  }
  void set_mark(const Tuple&, engine::FlowMark) override {}
  std::vector<engine::FlowEntry> dump() {
    const std::lock_guard lock(mutex);
    return table.entries;
  }

  std::mutex mutex;
  FakeFlowTable table;
  std::deque<TuplePair> ends;
  bool lost = false;
};

class KernelEnds final : public io::ConntrackEnds {
 public:
  explicit KernelEnds(Kernel& kernel) : kernel_(kernel) {}
  [[nodiscard]] int descriptor() const override { return 7; }
  bool drain(const std::function<void(const TuplePair& ended)>& visit) override {
    std::deque<TuplePair> ends;
    bool lost = false;
    {
      const std::lock_guard lock(kernel_.mutex);
      ends.swap(kernel_.ends);
      std::swap(lost, kernel_.lost);
    }
    for (const TuplePair& each : ends) visit(each);
    return !lost;
  }

 private:
  Kernel& kernel_;
};

struct Lab {
  explicit Lab(NatOptions nat = *nat_options().nat, std::uint64_t table_size = 1000) {
    const auto done = mappings.configure(nat, table_size);
    REQUIRE(done);
    look();
  }

  /// Reads the whole table at once.
  void look(TimePoint now = kStart) {
    mappings.begin_look(now);
    for (const engine::FlowEntry& each : kernel.dump()) mappings.on_entry(each);
    mappings.end_look(true);
  }
  InstallResult install(const TuplePair& session, bool proven = false) {
    InstallResult result = InstallResult::failed;
    const engine::Flow flow{session, {}, true, proven};
    flows.install({&flow, 1}, {&result, 1});
    return result;
  }
  std::optional<Endpoint> outside_of(std::string_view inside, Protocol protocol = kUdp) {
    return flows.outside_of(protocol, endpoint(inside));
  }

  Kernel kernel;
  std::vector<io::EndsOf> opened;
  Mappings mappings{1, [this](io::EndsOf which) -> Result<std::unique_ptr<io::ConntrackEnds>, io::IoError> {
                      opened.push_back(which);
                      return std::unique_ptr<io::ConntrackEnds>(std::make_unique<KernelEnds>(kernel));
                    }};
  MappedFlows flows{kernel, mappings};
};

TuplePair udp_session(std::string_view inside, std::uint16_t outside_port, std::string_view remote) {
  return act_session_at(udp_tuple(inside, remote), outside_port);
}

NatOptions with_tcp() {
  NatOptions nat = *nat_options().nat;
  nat.endpoint_independent_tcp = true;
  return nat;
}

}  // namespace

TEST_CASE("what a worker installs the others know at once, and its end when the kernel has told of it") {
  Lab lab;
  MappedFlows other(lab.kernel, lab.mappings);
  const TuplePair session = udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53");
  CHECK(lab.install(session) == InstallResult::ok);
  CHECK(other.outside_of(kUdp, endpoint("10.0.0.1:5000")) == endpoint("203.0.113.8:2241"));
  CHECK(other.inside_of(kUdp, endpoint("203.0.113.8:2241")) == endpoint("10.0.0.1:5000"));
  CHECK(other.has_session_with(kUdp, endpoint("203.0.113.8:2241"), address("198.51.100.1")));
  CHECK(lab.mappings.statistics().mappings == 1);
  lab.flows.remove(session.client_side);
  CHECK(lab.outside_of("10.0.0.1:5000"));  // stale, and harmless
  lab.mappings.read_ends();
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.mappings.statistics().sessions == 0);
}

TEST_CASE("what the kernel refuses is not known") {
  Lab lab;
  lab.kernel.table.capacity = 0;
  CHECK(lab.install(udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53")) == InstallResult::full);
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.mappings.statistics().sessions == 0);
}

TEST_CASE("the end of a session's former entry is not taken for that of its new one") {
  Lab lab;
  const TuplePair session = udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53");
  lab.install(session);
  lab.kernel.remove(session.client_side);  // a packet found the entry expired, and came to us
  CHECK(lab.install(session) == InstallResult::ok);
  lab.mappings.read_ends();
  CHECK(lab.outside_of("10.0.0.1:5000"));
}

TEST_CASE("RFC 4787 REQ-3: two endpoints of a client at once, one port: the second one is refused, in whatever worker") {
  Lab lab;
  const std::vector<engine::Flow> batch = {{udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53")},
                                           {udp_session("10.0.0.1:5001", 2241, "198.51.100.2:53")},
                                           {udp_session("10.0.0.1:5000", 2241, "198.51.100.3:53")},
                                           {udp_session("10.0.0.1:5002", 2242, "198.51.100.2:53")}};
  std::vector<InstallResult> results(batch.size(), InstallResult::failed);
  lab.flows.install(batch, results);
  CHECK(results == std::vector{InstallResult::ok, InstallResult::exists, InstallResult::ok, InstallResult::ok});
  CHECK(lab.kernel.table.entries.size() == 3);
  CHECK_FALSE(lab.outside_of("10.0.0.1:5001"));
  MappedFlows other(lab.kernel, lab.mappings);
  InstallResult result = InstallResult::ok;
  other.install({&batch[1], 1}, {&result, 1});
  CHECK(result == InstallResult::exists);
  CHECK(lab.mappings.statistics().taken == 2);
  // A session that its client has proven has its port, whoever else has got it.
  CHECK(lab.install(batch[1].tuples, true) == InstallResult::ok);
  CHECK(lab.flows.inside_of(kUdp, endpoint("203.0.113.8:2241")) == endpoint("10.0.0.1:5000"));
}

namespace {

/// An engine of its own over the index and the kernel that it shares.
struct Worker {
  Worker(Lab& lab, const engine::NodeOptions& options)
      : flows(lab.kernel, lab.mappings), engine(options, flows, paths, random, events) {}
  void take(const std::string& inside, const char* to) {
    packets.push_back(udp(inside, to).payload("question").build());
    engine.on_packet(kStart, {1, static_cast<std::uint32_t>(packets.size())}, engine::Tap::stray, packets.back());
  }
  void flush() {
    engine.flush(kStart);
    engine.outbox().clear();
  }

  MappedFlows flows;
  FakePaths paths;
  FakeRandom random;
  EventLog events;
  engine::NodeEngine engine;
  std::deque<Buffer> packets;
};

}  // namespace

TEST_CASE("the engine gives two endpoints two ports and one endpoint one, within a burst and in two workers at once") {
  engine::NodeOptions options = nat_options();
  options.nat->explicit_first = {engine::ExplicitFirst::any};
  // Two endpoints of a client whose first choice is the same.
  std::map<Endpoint, std::string> chosen;
  std::string one;
  std::string two;
  for (int port = 5000; two.empty(); ++port) {
    const std::string inside = "10.0.0.1:" + std::to_string(port);
    const auto [at, is_new] = chosen.emplace(outside_of(options, udp_tuple(inside, "198.51.100.1:9")), inside);
    if (is_new) continue;
    one = at->second;
    two = inside;
  }
  Lab lab;
  Worker first(lab, options);
  Worker second(lab, options);
  SUBCASE("one burst") {
    first.take(one, "198.51.100.1:53");
    first.take(two, "198.51.100.2:53");
    first.take(two, "198.51.100.3:53");
    first.take(one, "198.51.100.3:53");
    first.flush();
  }
  SUBCASE("two workers, both of which have chosen before one installs") {
    first.take(one, "198.51.100.1:53");
    first.take(two, "198.51.100.3:53");
    second.take(two, "198.51.100.2:53");
    second.take(one, "198.51.100.4:53");
    first.flush();
    second.flush();
  }
  CHECK(lab.kernel.table.entries.size() == 4);
  CHECK(lab.mappings.statistics().mappings == 2);
  CHECK(lab.outside_of(one) == outside_of(options, udp_tuple(one, "198.51.100.1:9")));
  CHECK(lab.outside_of(two) == outside_of(options, udp_tuple(two, "198.51.100.1:9"), 1));
}

TEST_CASE("between two clients by the outside both have a mapping, as long as the one entry lives") {
  Lab lab;
  lab.install(udp_session("10.0.0.2:6000", 3265, "198.51.100.1:53"));
  const Tuple near = udp_tuple("10.0.0.1:5000", "203.0.113.8:3265");
  const TuplePair hairpin{near, udp_tuple("203.0.113.8:2241", "10.0.0.2:6000")};
  CHECK(lab.install(hairpin) == InstallResult::ok);
  lab.flows.remove(udp_tuple("10.0.0.2:6000", "198.51.100.1:53"));
  lab.mappings.read_ends();
  CHECK(lab.outside_of("10.0.0.2:6000") == endpoint("203.0.113.8:3265"));
  CHECK(lab.flows.has_session_with(kUdp, endpoint("203.0.113.8:3265"), address("203.0.113.8")));
  CHECK(lab.outside_of("10.0.0.1:5000") == endpoint("203.0.113.8:2241"));
  lab.look();
  CHECK(lab.mappings.statistics().mappings == 2);
  lab.flows.remove(near);
  lab.mappings.read_ends();
  CHECK(lab.mappings.statistics().mappings == 0);
}

TEST_CASE("a start knows what the table has, of clients alone") {
  Lab lab;
  lab.kernel.table.add(udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53"));
  lab.kernel.table.add(udp_session("172.16.0.1:5000", 40000, "198.51.100.1:53"));  // somebody else's translation
  lab.kernel.table.add(act_session_at(tcp_tuple("10.0.0.1:5000", kFar), 2242));    // TCP is not followed
  lab.look();
  CHECK(lab.outside_of("10.0.0.1:5000") == endpoint("203.0.113.8:2241"));
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000", Protocol::tcp));
  CHECK(lab.mappings.statistics().sessions == 1);
}

TEST_CASE("ends that the kernel had to drop: another look, and what it has not seen goes") {
  Lab lab;
  const TuplePair gone = udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53");
  const TuplePair stays = udp_session("10.0.0.1:5001", 2242, "198.51.100.1:53");
  lab.install(gone);
  lab.install(stays);
  CHECK_FALSE(lab.mappings.wants_look(kStart + std::chrono::minutes(9)));
  CHECK(lab.mappings.wants_look(kStart + std::chrono::minutes(10)));  // now and then
  lab.kernel.remove(gone.client_side);
  lab.kernel.ends.clear();
  lab.kernel.lost = true;
  lab.mappings.read_ends();
  CHECK(lab.mappings.statistics().lost == 1);
  CHECK(lab.outside_of("10.0.0.1:5000"));
  CHECK_FALSE(lab.mappings.wants_look(kStart + std::chrono::seconds(9)));
  const TimePoint later = kStart + std::chrono::seconds(10);
  REQUIRE(lab.mappings.wants_look(later));
  lab.mappings.begin_look(later);
  CHECK_FALSE(lab.mappings.wants_look(later + std::chrono::hours(1)));  // one at a time
  for (const engine::FlowEntry& each : lab.kernel.dump()) lab.mappings.on_entry(each);
  lab.install(udp_session("10.0.0.1:5002", 2243, "198.51.100.1:53"));  // behind the part that has been read
  lab.mappings.end_look(true);
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.outside_of("10.0.0.1:5001"));
  CHECK(lab.outside_of("10.0.0.1:5002"));
  CHECK(lab.mappings.statistics().looks == 2);
  CHECK_FALSE(lab.mappings.wants_look(later + std::chrono::minutes(1)));
}

TEST_CASE("a look that was cut short removes nothing, and another one follows") {
  Lab lab;
  lab.install(udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53"));
  lab.mappings.begin_look(kStart);
  lab.mappings.end_look(false);
  CHECK(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.mappings.wants_look(kStart + std::chrono::seconds(10)));
}

TEST_CASE("what ends while the table is looked through stays ended, although the look has read it before") {
  Lab lab;
  const TuplePair ended = udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53");
  const TuplePair again = udp_session("10.0.0.1:5001", 2242, "198.51.100.1:53");
  lab.install(ended);
  lab.install(again);
  lab.mappings.begin_look(kStart);
  const auto read = lab.kernel.dump();
  for (const TuplePair& each : {ended, again}) lab.kernel.remove(each.client_side);
  lab.mappings.read_ends();
  lab.install(again);
  for (const engine::FlowEntry& each : read) lab.mappings.on_entry(each);
  CHECK(lab.outside_of("10.0.0.1:5000"));  // until the look is over
  lab.mappings.end_look(true);
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.outside_of("10.0.0.1:5001"));
}

TEST_CASE("more ends during a look than are kept: it proves nothing, and another one follows") {
  Lab lab;
  lab.install(udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53"));
  lab.mappings.begin_look(kStart);
  const TuplePair other = udp_session("10.0.0.1:5001", 2242, "198.51.100.1:53");
  for (std::size_t i = 0; i <= (1u << 17); ++i) lab.kernel.ends.push_back(other);
  lab.mappings.read_ends();
  lab.mappings.end_look(true);
  CHECK(lab.outside_of("10.0.0.1:5000"));
  REQUIRE(lab.mappings.wants_look(kStart + std::chrono::seconds(10)));
  lab.look(kStart + std::chrono::seconds(10));
  CHECK(lab.outside_of("10.0.0.1:5000"));
}

TEST_CASE("what is followed is what the configuration needs, and changes with it") {
  NatOptions nat = *nat_options().nat;
  CHECK(node::wants_mappings(nat, kUdp));
  CHECK_FALSE(node::wants_mappings(nat, Protocol::tcp));
  for (policy::ClientNetwork& each : nat.ranges.networks) each.mapping = policy::ClientMapping::prefix;
  CHECK_FALSE(node::wants_mappings(nat, kUdp));  // ports are kept, and whoever has a session is let in
  nat.filtering = Filtering::endpoint;
  CHECK(node::wants_mappings(nat, kUdp));
  nat.endpoint_independent_udp = false;
  CHECK_FALSE(node::wants_mappings(nat, kUdp));

  Lab lab(with_tcp());
  CHECK(lab.opened == std::vector{io::EndsOf::all});
  const TuplePair connection = act_session_at(tcp_tuple("10.0.0.1:5000", kFar), 2242);
  lab.install(connection);
  lab.install(udp_session("10.0.0.1:5000", 2241, "198.51.100.1:53"));
  CHECK(lab.outside_of("10.0.0.1:5000", Protocol::tcp) == endpoint("203.0.113.8:2242"));
  REQUIRE(lab.mappings.configure(*nat_options().nat, 1000));
  CHECK(lab.opened == std::vector{io::EndsOf::all, io::EndsOf::udp});
  CHECK_FALSE(lab.outside_of("10.0.0.1:5000", Protocol::tcp));
  CHECK(lab.outside_of("10.0.0.1:5000"));
  CHECK(lab.mappings.statistics().sessions == 1);
  CHECK(lab.mappings.wants_look(kStart));  // ends may have been told between two sockets
  lab.look();
  REQUIRE(lab.mappings.configure(*nat_options().nat, 1000));
  CHECK_FALSE(lab.mappings.wants_look(kStart));  // a reload that changes nothing of it
  REQUIRE(lab.mappings.configure(with_tcp(), 1000));
  CHECK(lab.mappings.wants_look(kStart));
  lab.look();
  CHECK(lab.outside_of("10.0.0.1:5000", Protocol::tcp) == endpoint("203.0.113.8:2242"));

  NatOptions none = *nat_options().nat;
  none.endpoint_independent_udp = false;
  REQUIRE(lab.mappings.configure(none, 1000));
  CHECK(lab.mappings.descriptor() == -1);
  CHECK(lab.mappings.statistics().sessions == 0);
  CHECK_FALSE(lab.mappings.wants_look(kStart + std::chrono::hours(1)));
  CHECK(lab.install(udp_session("10.0.0.1:5003", 2241, "198.51.100.9:53")) == InstallResult::ok);  // as if there were none
  CHECK_FALSE(lab.outside_of("10.0.0.1:5003"));
}

TEST_CASE("where ports are kept nothing is refused: the client has no other") {
  NatOptions nat = *nat_options().nat;
  policy::ClientNetwork six = nat.ranges.networks[1];
  six.clients = {*Prefix::parse("fd00:1::/64")};
  six.outside = {*Prefix::parse("2001:db8:ff::/64")};
  six.mapping = policy::ClientMapping::prefix;
  nat.ranges.networks[1] = six;
  Lab lab(nat);
  const auto pair = [](const char* inside, const char* remote) {
    return TuplePair{udp_tuple(inside, remote), udp_tuple("[2001:db8:ff::1]:5000", remote)};
  };
  CHECK(lab.install(pair("[fd00:1::9]:5000", "[2001:db8:2::1]:53")) == InstallResult::ok);  // of a former configuration
  CHECK(lab.install(pair("[fd00:1::1]:5000", "[2001:db8:2::2]:53")) == InstallResult::ok);
}

TEST_CASE("the index has room for as much as the kernel's table, and goes on without more") {
  Lab lab(*nat_options().nat, 2);
  for (int i = 1; i <= 5; ++i)
    CHECK(lab.install(udp_session("10.0.0.1:" + std::to_string(5000 + i), static_cast<std::uint16_t>(2240 + i),
                                  "198.51.100.1:53")) == InstallResult::ok);
  CHECK(lab.mappings.statistics().sessions == 4);
  CHECK(lab.mappings.statistics().no_room == 1);
}

TEST_CASE("workers, ends and looks in threads of their own: in the end the index has what the kernel has") {
  Lab lab;
  std::atomic<int> working = 3;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&lab, &working, worker] {
      MappedFlows flows(lab.kernel, lab.mappings);
      SeededRandom random(static_cast<std::uint64_t>(worker) + 1);
      for (int step = 0; step < 3000; ++step) {
        const std::uint64_t which = random.below(20);  // the same sessions for all of them
        const TuplePair session =
            udp_session("10.0.0.1:" + std::to_string(5000 + which), static_cast<std::uint16_t>(2240 + which),
                        "198.51.100." + std::to_string(1 + random.below(3)) + ":53");
        InstallResult result = InstallResult::failed;
        const engine::Flow flow{session};
        if (random.one_in(3)) {
          flows.remove(session.client_side);
        } else {
          flows.install({&flow, 1}, {&result, 1});
        }
      }
      --working;
    });
  }
  for (TimePoint now = kStart; working > 0; now += std::chrono::seconds(1)) {
    lab.mappings.read_ends();
    lab.look(now);
  }
  for (std::thread& each : threads) each.join();
  lab.look();
  const auto entries = lab.kernel.dump();
  CHECK(lab.mappings.statistics().sessions == entries.size());
  for (const engine::FlowEntry& each : entries)
    CHECK(lab.flows.outside_of(kUdp, each.tuples.client_side.src) == each.tuples.server_side.src);
}
