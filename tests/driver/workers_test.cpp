// SPDX-License-Identifier: BSD-3-Clause
// Four engines behind one address, over twins: packets are spread by their two addresses, as the kernel spreads them, and all
// answers come in at the first one's socket. What one engine does alone, four do together.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "asrp/packet/packet_view.hpp"
#include "asrp/wire/decode.hpp"
#include "asrpd-node/commands/explanation_json.hpp"
#include "asrpd-node/node_driver.hpp"
#include "asrpd-node/worker_messages.hpp"
#include "driver/twins.hpp"
#include "io/testing/memory_edges.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;
using engine::NodeCounter;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr unsigned kWorkers = 4;
constexpr std::uint16_t kBase = 100;

struct Sent {
  unsigned worker;
  Endpoint from;
  Endpoint to;
  Buffer octets;
  wire::Message message;
};

struct Cluster {
  struct One {
    One(Cluster& all, unsigned number, std::unique_ptr<io::MessageSocket> socket)
        : messages(all.exchange, number, std::move(socket)),
          engine(options_of(number), all.conntrack, paths, random, events),
          driver(engine, {queue, sender, messages, all.conntrack}, {kBase, kWorkers, 0x08000000, 0x40000000, 0x80000000},
                 [&all] { return all.now; }) {
      messages.set_expects([this](Octets message) { return engine.expects(message); });
      driver.on_timer();
    }
    static engine::NodeOptions options_of(unsigned number) {
      engine::NodeOptions options = basic_options();
      engine::Service udp = options.services[0];
      udp.name = "udp";
      udp.protocol = Protocol::udp;
      options.services.push_back(udp);
      engine::Service turns = options.services[0];
      turns.name = "turns";
      turns.address = *Endpoint::parse("198.51.100.2:80");
      turns.policy = policy::SelectionPolicy::round_robin;
      turns.ranks = turns.backends.size();
      options.services.push_back(turns);
      options.query_bits = node::worker_bits(kWorkers);
      options.query_number = number;
      return options;
    }

    io::testing::Order order;
    io::testing::MemoryPacketQueue queue{order};
    io::testing::MemoryPacketSender sender{order};
    node::WorkerMessages messages;
    FakePaths paths;
    FakeRandom random;
    EventLog events;
    engine::NodeEngine engine;
    node::NodeDriver driver;
  };

  Cluster() {
    auto real = std::make_unique<io::testing::MemoryMessageSocket>();
    socket = real.get();
    for (unsigned w = 0; w < kWorkers; ++w)
      workers.push_back(std::make_unique<One>(*this, w, w == 0 ? std::move(real) : nullptr));
    take_sent();  // the first probes
  }

  /// The same worker for both directions of a pair of addresses.
  static unsigned worker_of(const Tuple& tuple) {
    return (tuple.src.address.octets().back() + tuple.dst.address.octets().back()) % kWorkers;
  }
  void deliver(engine::Tap tap, const Tuple& tuple, Buffer packet) {
    const unsigned w = worker_of(tuple);
    const auto queue = static_cast<std::uint16_t>(kBase + static_cast<unsigned>(tap) * kWorkers + w);
    workers[w]->queue.deliver(queue, std::move(packet));
  }
  void turn() {
    for (int round = 0; round < 2 * static_cast<int>(kWorkers); ++round)
      for (const auto& one : workers) {
        one->driver.on_packets();
        one->driver.on_messages();
      }
  }
  /// Time passes in small steps.
  void pass(Duration by) {
    const TimePoint target = now + by;
    while (now < target) {
      now += milliseconds(1);
      for (const auto& one : workers)
        if (const auto due = one->engine.next_timeout(); due && *due <= now) one->driver.on_timer();
    }
  }
  /// Messages that left since the last call, whoever sent them.
  std::vector<Sent> take_sent() {
    std::vector<Sent> out;
    for (unsigned w = 0; w < kWorkers; ++w)
      for (const auto& sent : workers[w]->sender.take_sent()) {
        const auto view = packet::PacketView::parse(sent.packet);
        if (!view || !view->is_udp()) continue;
        const Octets payload = view->payload();
        out.push_back({w, view->tuple().src, view->tuple().dst, Buffer(payload.begin(), payload.end()), {}});
        if (const auto decoded = wire::decode(out.back().octets)) {
          out.back().message = decoded->message;
        } else {
          out.pop_back();
        }
      }
    return out;
  }
  /// As the node's command says it.
  nlohmann::json explain(const Tuple& packet, bool first) const {
    std::vector<engine::Explanation> told;
    for (const auto& one : workers) told.push_back(one->engine.explain(now, packet, first));
    return nlohmann::json::parse("{" + node::joint_explanation_members(told) + "}");
  }
  std::uint64_t counted(NodeCounter counter) const {
    std::uint64_t sum = 0;
    for (const auto& one : workers) sum += one->engine.counters()[counter];
    return sum;
  }

  TimePoint now{seconds(1000)};
  MemoryConntrack conntrack;
  node::MessageExchange exchange{kWorkers};
  io::testing::MemoryMessageSocket* socket = nullptr;
  std::vector<std::unique_ptr<One>> workers;
};

Tuple client_tuple(Protocol protocol, unsigned host, std::uint16_t port) {
  return {{*IpAddress::parse("203.0.113." + std::to_string(host)), port}, *Endpoint::parse("198.51.100.1:80"), protocol};
}

}  // namespace

TEST_CASE("workers: recoveries from both sides, each answered to the worker that asked") {
  Cluster c;
  std::size_t asked = 0;
  for (unsigned host = 1; host <= 40; ++host) {
    const Tuple client = client_tuple(Protocol::tcp, host, 4000);
    const Tuple server_side = {client.src, *Endpoint::parse("10.0.0.1:8080"), Protocol::tcp};
    c.deliver(engine::Tap::stray, client, tcp(client).push().data(10).build());
    c.deliver(engine::Tap::stray, server_side, tcp(server_side.reversed()).push().data(10).build());
  }
  c.turn();
  std::array<int, kWorkers> askers{};
  for (const Sent& s : c.take_sent()) {
    if (s.message.type != wire::MsgType::QS || s.message.st1 == Tuple{}) continue;
    ++askers[s.worker];
    ++asked;
    CHECK((s.message.cookie.value >> 30) == s.worker);
    const Tuple client = s.message.st1.dst.port == 80
                             ? s.message.st1
                             : client_tuple(Protocol::tcp, s.message.st1.dst.address.octets().back(), 4000);
    const TuplePair session{client, {client.src, *Endpoint::parse("10.0.0.1:8080"), Protocol::tcp}};
    const bool has_it = s.to.address == session.server_side.dst.address;
    c.socket->deliver(
        {s.to.address, s.from.port}, {s.from.address, kDefaultPort},
        has_it ? rs(session).cookie(s.message.cookie.value).build() : rx(s.message.st1).cookie(s.message.cookie.value).build());
  }
  for (const int each : askers) CHECK(each > 0);
  CHECK(asked >= 80);
  c.turn();
  c.pass(milliseconds(100));
  c.turn();
  for (unsigned host = 1; host <= 40; ++host)
    CHECK(c.conntrack.table.entry(client_tuple(Protocol::tcp, host, 4000)) != nullptr);
  CHECK(c.counted(NodeCounter::discarded_cookie) == 0);
  CHECK(c.counted(NodeCounter::discarded_unmatched) < 40);  // an RX behind the RS that was used; not one for each question
  for (const auto& one : c.workers) {
    CHECK(one->engine.gauges().recoveries == 0);
    CHECK(one->queue.unanswered() == 0);
  }
}

TEST_CASE("workers: a new UDP session's NA finds the worker that waits for it") {
  Cluster c;
  for (unsigned host = 1; host <= 40; ++host) {
    const Tuple client = client_tuple(Protocol::udp, host, 5000);
    c.deliver(engine::Tap::stray, client, udp(client).data(10).build());
  }
  c.turn();
  for (int round = 0; round < 3; ++round) {  // nobody has a session, neither the first that are asked nor the next
    for (const Sent& s : c.take_sent())
      if (s.message.type == wire::MsgType::QS)
        c.socket->deliver({s.to.address, s.from.port}, {s.from.address, kDefaultPort},
                          rx(s.message.st1).cookie(s.message.cookie.value).build());
    c.turn();
  }
  std::size_t waiting = 0;
  for (const auto& one : c.workers) waiting += one->engine.gauges().waiting;
  CHECK(waiting == 40);
  for (int round = 0; round < 3; ++round) {  // what went inline first is repeated in datagrams
    c.pass(milliseconds(110));
    for (const Sent& s : c.take_sent())
      if (s.message.type == wire::MsgType::NS)
        c.socket->deliver({s.to.address, kDefaultPort}, {s.from.address, kDefaultPort},
                          na(s.message.tuples()).cookie(s.message.cookie.value).build());
    c.turn();
  }
  for (const auto& one : c.workers) CHECK(one->engine.gauges().waiting == 0);
  CHECK(c.counted(NodeCounter::sessions_acknowledged) == 40);
  CHECK(c.counted(NodeCounter::sessions_unprotected) == 0);
  CHECK(c.counted(NodeCounter::discarded_unmatched) == 0);
}

TEST_CASE("workers: marked entries may be with another worker than their packets; the NA ends it") {
  Cluster c;
  for (unsigned host = 1; host <= 8; ++host) {
    const Tuple client = client_tuple(Protocol::udp, host, 6000);
    c.conntrack.table.add({client, {client.src, *Endpoint::parse("10.0.0.1:8080"), Protocol::udp}}, FlowMark::waiting);
  }
  const std::vector<engine::FlowEntry> entries = c.conntrack.table.entries;
  c.workers[3]->driver.on_marked_flows(entries);
  c.workers[1]->driver.on_marked_flows(entries);  // a second one, too: each NS has its NA
  for (const auto& one : c.workers) one->driver.on_marked_flows_end();
  for (int round = 0; round < 4; ++round) {
    for (const Sent& s : c.take_sent())
      if (s.message.type == wire::MsgType::NS)
        c.socket->deliver({s.to.address, kDefaultPort}, {s.from.address, kDefaultPort},
                          na(s.message.tuples()).cookie(s.message.cookie.value).build());
    c.turn();
    c.pass(milliseconds(110));
  }
  for (const auto& one : c.workers) CHECK(one->engine.gauges().waiting == 0);
  for (const engine::FlowEntry& entry : c.conntrack.table.entries) CHECK(entry.mark == FlowMark::none);
}

TEST_CASE(
    "workers: what is explained is what the worker does that gets the packet; where their turns differ, each one's is told") {
  Cluster c;
  int different = 0;
  for (unsigned host = 1; host <= 40; ++host) {
    for (const char* service : {"198.51.100.1:80", "198.51.100.2:80"}) {
      Tuple client = client_tuple(Protocol::tcp, host * host % 251, static_cast<std::uint16_t>(4000 + host));
      client.dst = *Endpoint::parse(service);
      // Of its own: the server sees the client's, and one that the other service has there would send it to the next server.
      client.src.port = static_cast<std::uint16_t>(client.src.port + (client.dst.address.octets().back() == 2 ? 100 : 0));
      const nlohmann::json told = c.explain(client, true);
      CHECK(told["step"] == "create");
      CHECK(told["workers"] == kWorkers);
      std::string server;
      for (const auto& choice : told["choices"])
        if (choice["chosen"] == true) server = choice["server"];
      if (!told["by_worker"].empty()) {
        ++different;
        CHECK(client.dst.to_string() == "198.51.100.2:80");  // hash has no turns
        REQUIRE(told["by_worker"].size() == kWorkers);
        CHECK(told["by_worker"][0]["server"] == server);
        server = told["by_worker"][Cluster::worker_of(client)]["server"];
      }
      c.deliver(engine::Tap::first, client, tcp(client).syn().build());
      c.turn();
      const auto* entry = c.conntrack.table.entry(client);
      REQUIRE(entry != nullptr);
      CHECK("s" + std::to_string(entry->tuples.server_side.dst.address.octets().back()) == server);
    }
  }
  CHECK(different > 10);
}

TEST_CASE("workers: what is in flight is told by the one that has it") {
  for (unsigned host = 1; host <= kWorkers; ++host) {
    Cluster c;
    const Tuple client = client_tuple(Protocol::tcp, host, 4000);
    CHECK(c.explain(client, false)["step"] == "ask-candidates");
    c.deliver(engine::Tap::stray, client, tcp(client).push().data(10).build());
    c.turn();
    const nlohmann::json told = c.explain(client, false);
    CHECK(told["step"] == "join-recovery");
    CHECK(told["by_worker"].empty());
  }
}
