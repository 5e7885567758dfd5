// SPDX-License-Identifier: BSD-3-Clause
#include "asrpd-holder/holder_driver.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "asrpd-holder/commands/commands.hpp"
#include "driver/twins.hpp"
#include "runtime/testing/control_twin.hpp"

using namespace asrp;
using namespace asrp::test;
using std::chrono::seconds;

namespace {

constexpr std::uint16_t kInbound = 200;
constexpr std::uint16_t kOutbound = 201;
constexpr std::uint32_t kOwnMark = 0x80000000;
constexpr std::uint32_t kDoneMark = 0x04000000;

const TuplePair kSession{tcp_tuple("203.0.113.5:4000", "198.51.100.1:80"), tcp_tuple("10.0.9.9:5000", "10.0.0.1:8080")};

engine::HolderOptions options() {
  engine::HolderOptions o;
  o.nodes = {{address("192.0.2.0"), 24}};
  o.act.enabled = true;
  o.act.gateways = {{address("192.0.2.0"), 24}};
  o.services = {{Protocol::tcp, 8080, engine::Push::automatic, seconds(300)},
                {Protocol::udp, 53, engine::Push::always, seconds(300)}};
  return o;
}

struct Bench : HolderTwins {
  Bench() {
    addresses.addresses = {address("10.0.0.1")};
    driver.on_addresses();
    REQUIRE(engine.load(now));
  }
  Buffer with_ns(const Tuple& tuple) const {
    const Buffer syn = tcp(tuple).syn().build();
    const Buffer message = ns(kSession).cookie(7).node("192.0.2.10").build();
    Buffer out;
    REQUIRE(packet::insert_inline(*packet::PacketView::parse(syn), packet::Marker{}, message, 1500, out).has_value());
    return out;
  }

  TimePoint now{seconds(1000)};
  MemoryStore act_store;
  engine::HolderEngine engine{options(), store, sessions, paths, random, events, &act_store};
  holder::HolderDriver driver{engine, edges(), {kInbound, kOwnMark, kDoneMark}, [this] { return now; }};
};

}  // namespace

TEST_CASE("an inbound SYN is stored, stripped, and marked as looked at") {
  Bench b;
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].verdict == io::Verdict::accept);
  CHECK(verdicts[0].replacement == tcp(kSession.server_side).syn().build());
  CHECK(verdicts[0].mark == kOwnMark);
  CHECK(b.engine.gauges().backups == 1);
  CHECK(b.store.commits > 0);
}

TEST_CASE("an inbound packet with a foreign option passes as it is, marked, so that the rule for a dead daemon spares it") {
  Bench b;
  b.queue.deliver(kInbound, tcp(kSession.server_side).options("fd04ffff").data(10).build(), 0x1);
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].verdict == io::Verdict::accept);
  CHECK(verdicts[0].replacement.empty());
  CHECK(verdicts[0].mark == (kOwnMark | 0x1));
}

TEST_CASE("the first response gets its PS; a UDP flow is then off the queue, a SYN/ACK is not marked") {
  Bench b;
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  b.driver.on_packets();
  b.queue.take_verdicts();
  b.queue.deliver(kOutbound, tcp(kSession.server_side.reversed()).syn_ack().build());
  b.driver.on_packets();
  const auto answers = b.queue.take_verdicts();
  REQUIRE(answers.size() == 1);
  CHECK(!answers[0].replacement.empty());
  CHECK(answers[0].mark == 0);

  b.queue.deliver(kOutbound, udp("10.0.0.1:53", "203.0.113.5:4000").payload("x").build(), 0x2);
  b.driver.on_packets();
  const auto datagrams = b.queue.take_verdicts();
  REQUIRE(datagrams.size() == 1);
  CHECK(datagrams[0].mark == (kDoneMark | 0x2));
}

TEST_CASE("a separate PS leaves before its packet, an HS behind it; of an unproven route the flow is off the queue at once") {
  Bench b;
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  b.driver.on_packets();
  b.queue.take_verdicts();
  b.paths.mtu = 100;
  const Tuple out = tcp_tuple("10.0.0.1:40000", "198.51.100.9:443");
  b.queue.deliver(kOutbound, tcp(out).syn().build(), 0x2);
  b.queue.deliver(kOutbound, tcp(kSession.server_side.reversed()).syn_ack().options(Buffer(40, 1)).build());
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  const auto sent = b.sender.take_sent();
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0].replacement.empty());
  CHECK(verdicts[0].mark == (kDoneMark | 0x2));
  REQUIRE(sent.size() == 1);  // the SYN/ACK has no room for the option of its PS
  CHECK(packet::PacketView::parse(sent[0].packet)->tuple() == out);
  CHECK(sent[0].mark == kOwnMark);
  CHECK(sent[0].order > verdicts[1].order);

  b.paths.mtu = 120;
  b.queue.deliver(kOutbound, tcp(out).syn().seq(5).build());
  b.queue.deliver(kOutbound, tcp(kSession.server_side.reversed()).syn_ack().payload(pattern(50)).build());
  b.driver.on_packets();
  const auto both = b.queue.take_verdicts();
  const auto around = b.sender.take_sent();
  REQUIRE(both.size() == 2);
  REQUIRE(around.size() == 2);
  CHECK(around[0].order < both[0].order);  // PS
  CHECK(packet::PacketView::parse(around[0].packet)->tuple() == kSession.server_side.reversed());
  CHECK(around[1].order > both[1].order);  // HS
  CHECK(packet::PacketView::parse(around[1].packet)->tuple() == out);
}

TEST_CASE("a gateway's NS is committed before its NA leaves, and a proven route keeps flows in the queue") {
  Bench b;
  const Tuple out = tcp_tuple("10.0.0.1:40000", "198.51.100.9:443");
  b.queue.deliver(kOutbound, tcp(out).syn().build());
  b.driver.on_packets();
  b.queue.take_verdicts();
  const auto hello = b.sender.take_sent();
  REQUIRE(hello.size() == 1);
  const auto view = packet::PacketView::parse(hello[0].packet);
  const Octets room = packet::locate(*view, {}).room(*view);
  const Cookie cookie = wire::decode_prefix(room)->message.cookie;
  const TuplePair session{out, tcp_tuple("203.0.113.99:7000", "198.51.100.9:443")};
  b.messages.deliver(endpoint("192.0.2.9:51200"), endpoint("10.0.0.1:51200"),
                     ns(session).cookie(cookie.value).node("192.0.2.9").wants_ack().build());
  const std::size_t commits = b.act_store.commits;
  b.driver.on_messages();
  CHECK(b.act_store.commits > commits);
  CHECK(b.sender.take_sent().size() == 1);
  CHECK(b.engine.gauges().act_backups == 1);
  CHECK(b.engine.gauges().routes_proven == 1);
  b.queue.deliver(kOutbound, tcp("10.0.0.1:40001", "198.51.100.9:443").syn().build(), 0x2);
  b.driver.on_packets();
  CHECK(b.queue.take_verdicts()[0].mark == 0x2);
}

namespace {

constexpr std::string_view kOut = "198.51.100.9:443";

/// A session of this host as client begins, and a gateway answers its HS: the route is proven.
void prove_route(Bench& b, std::string_view own = "10.0.0.1:40000") {
  const TuplePair session{tcp_tuple(own, kOut), tcp_tuple("203.0.113.99:7000", kOut)};
  b.queue.deliver(kOutbound, tcp(session.client_side).syn().build());
  b.driver.on_packets();
  b.queue.take_verdicts();
  const auto hello = b.sender.take_sent();
  REQUIRE(hello.size() == 1);
  const auto view = packet::PacketView::parse(hello[0].packet);
  const Cookie cookie = wire::decode_prefix(packet::locate(*view, {}).room(*view))->message.cookie;
  b.messages.deliver(endpoint("192.0.2.9:51200"), endpoint("10.0.0.1:51200"),
                     ns(session).cookie(cookie.value).node("192.0.2.9").build());
  b.driver.on_messages();
}

}  // namespace

TEST_CASE("a route that is proven: flows that left the queue without a backup come back, no others, and not over and over") {
  Bench b;
  prove_route(b);
  CHECK(b.done_flows.begun == 1);
  const Tuple bare = tcp_tuple("10.0.0.1:30000", kOut);
  const Tuple datagrams = udp_tuple("10.0.0.1:30000", kOut);
  b.done_flows.flows = {bare, tcp_tuple("10.0.0.1:40000", kOut) /* has a backup */,
                        udp_tuple("10.0.0.1:30001", "198.51.100.9:53"),
                        tcp_tuple("203.0.113.5:4000", "10.0.0.1:8080") /* of a client of this host */, datagrams};
  b.driver.on_done_flows();
  CHECK(b.done_flows.cleared == std::vector{bare, datagrams});
  CHECK(b.driver.statistics().flows_back == 2);
  b.queue.deliver(kOutbound, tcp(bare).flags(0x18).payload("in mid-stream").build());
  b.driver.on_packets();
  CHECK_FALSE(b.queue.take_verdicts().at(0).replacement.empty());

  for (const std::uint32_t next : {2u, 3u, 4u}) {  // roams
    b.now += seconds(1);
    b.paths.next = next;
    prove_route(b, "10.0.0.1:" + std::to_string(40000 + next));
  }
  CHECK(b.done_flows.begun == 1);
  b.now += seconds(10);
  b.driver.look_for_sweep(b.now);
  CHECK(b.done_flows.begun == 2);
  b.driver.look_for_sweep(b.now);
  CHECK(b.done_flows.begun == 2);
}

TEST_CASE("a packet goes by the routes at the time that it left: no HS in mid-stream where the way has just changed") {
  Bench b;
  prove_route(b);
  b.paths.next = 2;  // nobody has told the driver
  b.queue.deliver(kOutbound, tcp("10.0.0.1:30000", kOut).flags(0x18).payload("in mid-stream").build());
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  CHECK(verdicts[0].replacement.empty());
  CHECK(verdicts[0].mark == kDoneMark);
}

TEST_CASE("a QS is answered through the raw sender, with the daemon's mark") {
  Bench b;
  b.messages.deliver(endpoint("192.0.2.10:40000"), endpoint("10.0.0.1:51200"), qs(kSession.client_side).cookie(9).build());
  b.driver.on_messages();
  const auto sent = b.sender.take_sent();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].mark == kOwnMark);
  const auto view = packet::PacketView::parse(sent[0].packet);
  REQUIRE(view);
  CHECK(wire::decode(view->payload())->message.type == wire::MsgType::RX);
}

TEST_CASE("a cut packet is let through as it is: the holder must not cost the host a packet") {
  Bench b;
  Buffer part = b.with_ns(kSession.server_side);
  b.queue.deliver(kInbound, part, 0, part.size() + 1);
  b.driver.on_packets();
  const auto verdicts = b.queue.take_verdicts();
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].verdict == io::Verdict::accept);
  CHECK(verdicts[0].replacement.empty());
  CHECK(b.driver.statistics().cut_packets == 1);
}

TEST_CASE("a notice of a session's end leads to a look-up, and without a socket to the release") {
  Bench b;
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  b.driver.on_packets();
  b.sessions.known.known[kSession.server_side] = engine::LocalState::live;
  b.now += seconds(2);
  b.driver.on_timer();
  REQUIRE(b.engine.gauges().backups == 1);
  b.sessions.known.known.clear();
  b.sessions.ended = {kSession.server_side};
  b.driver.on_notices();
  for (int i = 0; i < 10 && b.engine.gauges().backups > 0; ++i) {
    b.now += seconds(10);
    b.driver.on_timer();
  }
  CHECK(b.engine.gauges().backups == 0);
  CHECK(b.driver.statistics().notices == 1);
}

TEST_CASE("lost notices make the engine look at every backup") {
  Bench b;
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  b.driver.on_packets();
  b.sessions.known.known[kSession.server_side] = engine::LocalState::live;
  b.now += seconds(2);
  b.driver.on_timer();
  b.sessions.known.known.clear();
  b.sessions.lost = true;
  b.driver.on_notices();
  for (int i = 0; i < 10 && b.engine.gauges().backups > 0; ++i) {
    b.now += seconds(10);
    b.driver.on_timer();
  }
  CHECK(b.engine.gauges().backups == 0);
  CHECK(b.driver.statistics().notices_lost == 1);
}

TEST_CASE("the slow path's time is that of the burst, for each of its packets") {
  Bench b;
  holder::HolderDriver driver{
      b.engine, {b.queue, b.sender, b.messages, b.sessions, b.addresses}, {kInbound, kOwnMark, kDoneMark}, [&b] {
        return b.now += std::chrono::microseconds(40);
      }};
  b.queue.deliver(kInbound, b.with_ns(kSession.server_side));
  driver.on_packets();
  CHECK(driver.statistics().slow_path.counts()[2] == 1);  // up to 50 us
  CHECK(driver.statistics().slow_path.sum() == std::chrono::microseconds(40));
  driver.on_packets();
  CHECK(driver.statistics().slow_path.sum() == std::chrono::microseconds(40));
}

namespace {

struct Access final : holder::HolderAccess {
  explicit Access(engine::HolderEngine& e) : engine_(e) {}
  const holder::HolderConfig& config() const override { return config_; }
  engine::HolderEngine& engine() override { return engine_; }
  holder::HolderConfig config_;
  engine::HolderEngine& engine_;
};

}  // namespace

TEST_CASE("backups: all that are kept, in pieces, and those that a filter matches") {
  Bench b;
  constexpr unsigned kBackups = 1000;
  for (unsigned i = 0; i < kBackups; ++i) {
    TuplePair session = kSession;
    session.client_side.src.address = IpAddress::v4(0xcb007100 + i);  // 203.0.113.0 and on
    session.server_side.src.port = static_cast<std::uint16_t>(1000 + i);
    const Buffer syn = tcp(session.server_side).syn().build();
    Buffer out;
    REQUIRE(packet::insert_inline(*packet::PacketView::parse(syn), packet::Marker{},
                                  ns(session).cookie(7).node("192.0.2.10").build(), 1500, out)
                .has_value());
    b.queue.deliver(kInbound, out);
    b.driver.on_packets();
  }
  REQUIRE(b.engine.gauges().backups == kBackups);
  Access access(b.engine);
  runtime::CommandTable table;
  holder::add_commands(table, access);
  runtime::ControlTwin twin(table);
  const auto count = [&twin](const std::string& arguments) {
    const std::string text = twin.ask("{\"command\":\"backups\"" + arguments + "}");
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    CHECK(text.ends_with("{\"end\":true,\"backups\":" + std::to_string(lines - 2) + "}\n"));
    return lines - 2;
  };
  CHECK(count("") == kBackups);
  CHECK(count(R"(,"client":"203.0.113.5")") == 1);
  CHECK(count(R"(,"client":"203.0.113.0/25","node":"192.0.2.0/24","port":8080,"protocol":"tcp")") == 128);
  CHECK(count(R"(,"node":"192.0.2.11")") == 0);
  CHECK(count(R"(,"port":80)") == 0);
  CHECK(count(R"(,"protocol":"udp")") == 0);
  twin.send(R"({"command":"backups","client":"203.0.113.5"})");
  CHECK(twin.read_piece());  // a piece looks at some, wanted or not
  CHECK(twin.read().find(R"({"mode":"psv","protocol":"tcp","client":"203.0.113.5:4000","address":"198.51.100.1:80",)"
                         R"("source":"10.0.9.9:1005",)"
                         R"("server_address":"10.0.0.1:8080","node":"192.0.2.10","session_data_octets":0})") !=
        std::string::npos);
  for (const char* wrong : {R"("client":"x")", R"("node":"1.2.3.4/33")", R"("protocol":"icmp")"})
    CHECK(twin.ask(std::string(R"({"command":"backups",)") + wrong + "}").find("\"kind\":\"argument\"") != std::string::npos);
}
