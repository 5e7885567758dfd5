// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-node/node_driver.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "asrp/packet/packet_view.hpp"
#include "asrp/wire/decode.hpp"
#include "asrpd-node/flow_rules.hpp"
#include "driver/twins.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint16_t kFirst = 100;
constexpr std::uint16_t kStray = 101;
constexpr std::uint16_t kKnown = 102;
constexpr std::uint32_t kAdmitted = 0x08000000;
constexpr std::uint32_t kFlowMark = 0x40000000;
constexpr std::uint32_t kOwnMark = 0x80000000;

struct Bench : NodeTwins {
  Bench() { driver.on_timer(); }

  TimePoint now{seconds(1000)};
  engine::NodeEngine engine{basic_options(), conntrack, paths, random, events};
  node::NodeDriver driver{engine, edges(), {kFirst, 1, kAdmitted, kFlowMark, kOwnMark}, [this] { return now; }};
};

const Tuple kClient = tcp_tuple("203.0.113.5:4000", "198.51.100.1:80");

}  // namespace

TEST_CASE("a SYN is let go on with its NS, marked as admitted, after its session is there") {
  Bench b;
  b.sender.take_sent();  // the first probes
  const auto id = b.queue.deliver(kFirst, tcp(kClient).syn().build());
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].id == id);
  CHECK(verdicts[0].verdict == io::Verdict::accept);
  CHECK(!verdicts[0].replacement.empty());
  CHECK(verdicts[0].mark == kAdmitted);
  CHECK(b.conntrack.table.entry(kClient) != nullptr);
  CHECK(b.queue.unanswered() == 0);
}

TEST_CASE("a mark that a packet came with stays") {
  Bench b;
  b.queue.deliver(kFirst, tcp(kClient).syn().build(), 0x5);
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].mark == (kAdmitted | 0x5));
}

TEST_CASE("a burst is one round: all sent packets before all verdicts, one table call for all sessions") {
  Bench b;
  b.sender.take_sent();
  const int batches = b.conntrack.table.batches;
  for (int i = 0; i < 10; ++i) {
    const std::string port = std::to_string(5000 + i);
    b.queue.deliver(kFirst, tcp("203.0.113.5:" + port, "198.51.100.1:80").syn().build());
    b.queue.deliver(kStray, tcp("203.0.113.6:" + port, "198.51.100.1:80").push().data(10).build());  // each asks two servers
  }
  b.driver.on_packets();
  const auto sent = b.sender.take_sent();
  const auto verdicts = b.queue.take_verdicts();
  CHECK(verdicts.size() == 20);
  CHECK(sent.size() == 20);
  CHECK(b.conntrack.table.batches == batches + 1);
  std::uint64_t last_sent = 0;
  std::uint64_t first_verdict = UINT64_MAX;
  for (const auto& s : sent) {
    last_sent = std::max(last_sent, s.order);
    CHECK(s.mark == kOwnMark);
  }
  for (const auto& v : verdicts) first_verdict = std::min(first_verdict, v.order);
  CHECK(last_sent < first_verdict);
}

TEST_CASE("a recovery: the original is dropped, QS goes out, RS comes in, the held copy is sent as the flow's") {
  Bench b;
  b.sender.take_sent();
  const auto id = b.queue.deliver(kStray, tcp(kClient).push().data(100).build());
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].id == id);
  CHECK(verdicts[0].verdict == io::Verdict::drop);
  const auto queries = b.sender.take_sent();
  REQUIRE(queries.size() == 2);
  const auto asked = packet::PacketView::parse(queries[0].packet);
  REQUIRE(asked);
  const wire::Message query = wire::decode(asked->payload())->message;

  const Endpoint server{asked->tuple().dst.address, 8080};
  const TuplePair session{kClient, {kClient.src, server, Protocol::tcp}};
  b.messages.deliver({server.address, asked->tuple().src.port}, {asked->tuple().src.address, kDefaultPort},
                     rs(session).cookie(query.cookie.value).build());
  b.now += milliseconds(1);
  b.driver.on_messages();
  if (b.sender.take_sent().empty()) {  // the other candidate may stand before this one in the list
    b.now += milliseconds(200);
    b.driver.on_timer();
  }
  CHECK(b.conntrack.table.entry(kClient) != nullptr);
  CHECK(b.queue.unanswered() == 0);
}

TEST_CASE("a packet that the kernel gave in part is dropped and never sent back") {
  Bench b;
  Buffer part = tcp(kClient).syn().build();
  b.queue.deliver(kFirst, part, 0, part.size() + 1000);
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].verdict == io::Verdict::drop);
  CHECK(b.driver.statistics().cut_packets == 1);
  CHECK(b.conntrack.table.entries.empty());
}

TEST_CASE("each packet gets exactly one verdict, whatever it is") {
  Bench b;
  std::size_t delivered = 0;
  std::uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    for (const std::uint16_t queue : {kFirst, kStray, kKnown}) {
      Buffer packet = round % 3 == 0 ? tcp("203.0.113.9:" + std::to_string(1000 + round), "198.51.100.1:80").data(20).build()
                                     : tcp(kClient).syn().data(static_cast<std::size_t>(round)).build();
      if (round % 2 == 0) {  // some octet is another
        state = state * 6364136223846793005u + 1442695040888963407u;
        packet[(state >> 33) % packet.size()] ^= static_cast<std::uint8_t>(state >> 20);
      }
      if (round % 7 == 0) packet.resize(packet.size() / 2);
      b.queue.deliver(queue, std::move(packet));
      ++delivered;
    }
    b.driver.on_packets();
    b.now += milliseconds(7);
    b.driver.on_timer();
  }
  CHECK(b.queue.take_verdicts().size() == delivered);
  CHECK(b.queue.unanswered() == 0);
  CHECK(b.queue.statistics().verdict_errors == 0);
}

TEST_CASE("marked entries are handed to the engine: a new daemon goes on with NS of waiting sessions") {
  Bench b;
  b.sender.take_sent();
  const TuplePair session{kClient, tcp_tuple("203.0.113.5:4000", "10.0.0.1:8080")};
  b.conntrack.table.add(session, FlowMark::waiting);
  b.driver.on_marked_flows(b.conntrack.table.entries);
  b.driver.on_marked_flows_end();
  CHECK(b.engine.gauges().waiting == 1);
  b.now += milliseconds(500);
  b.driver.on_timer();
  bool repeated = false;
  for (const auto& sent : b.sender.take_sent()) {
    const auto view = packet::PacketView::parse(sent.packet);
    repeated = repeated || (view && view->is_udp() && wire::decode(view->payload())->message.type == wire::MsgType::NS);
  }
  CHECK(repeated);
}

TEST_CASE("UDP entries whose server left the pool are removed, all others stay") {
  Bench b;
  engine::NodeOptions options = b.engine.options();
  engine::Service udp = options.services[0];
  udp.name = "dns";
  udp.protocol = Protocol::udp;
  udp.address.port = 53;
  options.services.push_back(udp);
  b.engine.reconfigure(b.now, options);
  const auto before = b.engine.options().services;
  const auto entry = [&](const engine::Service& service, std::uint16_t port, const Endpoint& server) {
    const Endpoint client{*IpAddress::parse("203.0.113.5"), port};
    return engine::FlowEntry{
        {{client, service.address, service.protocol}, {client, server, service.protocol}}, FlowMark::none, false};
  };
  const Endpoint leaving = udp.backends[0].address;
  const Endpoint staying = udp.backends[1].address;
  const Endpoint elsewhere = *Endpoint::parse("192.0.2.77:53");
  engine::Service foreign = udp;
  foreign.address = elsewhere;
  b.conntrack.table.entries = {entry(udp, 1, leaving), entry(udp, 2, staying), entry(options.services[0], 3, leaving),
                               entry(foreign, 4, elsewhere)};
  const auto orphans = [&] {
    std::vector<engine::FlowEntry> found;
    const std::span<const engine::Service> after = b.engine.options().services;
    for (const engine::FlowEntry& e : b.conntrack.table.entries)
      if (node::leaves_orphans(before, after) && node::is_orphan(before, after, e)) found.push_back(e);
    return found;
  };
  CHECK(orphans().empty());

  SUBCASE("removed") { options.services.back().backends.erase(options.services.back().backends.begin()); }
  SUBCASE("disabled") { options.services.back().backends[0].state = engine::BackendState::disabled; }
  b.engine.reconfigure(b.now, options);
  auto found = orphans();
  REQUIRE(found.size() == 1);
  found.push_back(entry(udp, 2, staying));  // what was found is looked at again
  found.push_back(entry(udp, 9, leaving));  // and may have ended
  b.driver.remove_orphaned_flows(found);
  CHECK(b.conntrack.table.entries.size() == 3);
  CHECK(!b.conntrack.table.find(entry(udp, 1, leaving).tuples.client_side));
  CHECK(b.driver.statistics().orphaned == 1);
}

TEST_CASE("entries of a service that translate nothing are removed, others stay") {
  Bench b;
  const Tuple foreign = tcp_tuple("203.0.113.5:4000", "198.51.100.99:80");
  b.conntrack.untranslated = {{{kClient, kClient}, FlowMark::none, false}, {{foreign, foreign}, FlowMark::none, false}};
  const TuplePair translated{tcp_tuple("203.0.113.5:4001", "198.51.100.1:80"), tcp_tuple("203.0.113.5:4001", "10.0.0.1:8080")};
  b.conntrack.table.add(translated, FlowMark::none);
  auto found = b.conntrack.untranslated;
  found.push_back({{translated.client_side, translated.client_side}, FlowMark::none, false});  // was so when it was found
  b.driver.remove_untranslated_flows(found);
  CHECK(b.conntrack.table.find(translated.client_side));
  REQUIRE(b.conntrack.untranslated.size() == 1);
  CHECK(b.conntrack.untranslated[0].tuples.client_side == foreign);
  CHECK(b.driver.statistics().untranslated == 1);
}

TEST_CASE("a nearly full table refuses unproven sessions until it has eased (decision 5)") {
  Bench b;
  const auto created = [&](int port) {
    b.queue.deliver(kFirst, tcp("203.0.113.7:" + std::to_string(port), "198.51.100.1:80").syn().build());
    b.driver.on_packets();
    b.queue.take_verdicts();
    return b.conntrack.table.entry(tcp_tuple("203.0.113.7:" + std::to_string(port), "198.51.100.1:80")) != nullptr;
  };
  CHECK(created(1));
  b.conntrack.now = {940, 1000};
  b.driver.check_table_fill();
  CHECK(!created(2));
  b.conntrack.now = {880, 1000};  // between the two marks: as it was
  b.driver.check_table_fill();
  CHECK(!created(3));
  b.conntrack.now = {870, 1000};
  b.driver.check_table_fill();
  CHECK(created(4));
}

TEST_CASE("the slow path's time is that of the burst, for each of its packets; no packet, no time") {
  Bench b;
  int reads = 0;
  node::NodeDriver driver{
      b.engine, {b.queue, b.sender, b.messages, b.conntrack}, {kFirst, 1, kAdmitted, kFlowMark, kOwnMark}, [&] {
        ++reads;
        return b.now += std::chrono::microseconds(20);
      }};
  for (int i = 0; i < 3; ++i)
    b.queue.deliver(kFirst, tcp("203.0.113.5:" + std::to_string(4000 + i), "198.51.100.1:80").syn().build());
  driver.on_packets();
  CHECK(driver.statistics().slow_path.counts()[1] == 3);  // up to 25 us
  CHECK(driver.statistics().slow_path.sum() == std::chrono::microseconds(60));
  CHECK(reads == 2);  // a burst, not a packet, costs a second look at the clock
  driver.on_packets();
  CHECK(reads == 3);
  CHECK(driver.statistics().slow_path.sum() == std::chrono::microseconds(60));
}
