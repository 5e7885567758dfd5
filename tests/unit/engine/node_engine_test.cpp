// SPDX-License-Identifier: BSD-3-Clause
// The engine as a whole: one verdict for every packet whatever comes in, reload, own clock.
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::FlowMark;

namespace {

constexpr const char* kClient = "203.0.113.7:50000";
constexpr const char* kVip = "198.51.100.1:80";
constexpr const char* kNode = "192.0.2.10";

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 99) {}
  std::uint32_t below(std::uint32_t n) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 33) % n;
  }

 private:
  std::uint64_t state_;
};

/// Some packet of a few flows, from either side, with or without a message, sometimes damaged.
Buffer some_packet(Dice& dice, bool udp_service) {
  const Endpoint client{address("203.0.113.7"), static_cast<std::uint16_t>(5000 + dice.below(6))};
  const Endpoint vip = endpoint(udp_service ? "198.51.100.1:53" : kVip);
  const Endpoint server{address("10.0.0." + std::to_string(1 + dice.below(5))),
                        static_cast<std::uint16_t>(udp_service ? 5353 : 8080)};
  const Endpoint outside{address("10.1.0.1"), static_cast<std::uint16_t>(1024 + dice.below(3))};
  const bool from_client = dice.below(2) == 0;
  const Endpoint src = from_client ? client : server;
  const Endpoint dst = from_client ? vip : dice.below(2) == 0 ? client : outside;
  const std::string payload(dice.below(3), 'x');
  Buffer packet = udp_service ? udp(src, dst).payload(payload).build()
                              : tcp(src, dst).flags(static_cast<std::uint8_t>(dice.below(32))).payload(payload).build();
  const Protocol protocol = udp_service ? Protocol::udp : Protocol::tcp;
  if (dice.below(8) == 0) {
    packet = icmp_error(src.address, dst.address).quoting(packet).build();
  } else if (dice.below(3) == 0) {
    const TuplePair pair{{client, vip, protocol}, {dst, src, protocol}};
    const auto view = packet::PacketView::parse(packet);
    Buffer message = dice.below(2) == 0 ? ps_of(pair, key_of(0x22)) : hs(protocol).build();
    Buffer out;
    if (dice.below(2) == 0 ? packet::insert_inline(*view, {}, message, 65535, out).has_value()
                           : packet::make_separate(*view, {}, message, 65535, out).has_value()) {
      packet = out;
    }
  }
  if (dice.below(10) == 0) packet.resize(dice.below(static_cast<std::uint32_t>(packet.size())));
  if (dice.below(10) == 0 && !packet.empty()) packet[dice.below(static_cast<std::uint32_t>(packet.size()))] ^= 0x41;
  return packet;
}

engine::NodeOptions some_options(std::uint64_t seed) {
  auto options = seed % 2 == 0 ? basic_options() : full_nat_options();
  if (seed % 3 == 0) {
    for (auto& service : options.services) {
      service.protocol = Protocol::udp;
      service.address.port = 53;
      service.explicit_first = seed % 5 < 2 ? engine::ExplicitFirst::any : engine::ExplicitFirst::none;
      for (auto& b : service.backends) b.address.port = 5353;
    }
  }
  options.services[0].routing = seed % 4 < 2 ? engine::Routing::asymmetric : engine::Routing::symmetric;
  options.services[0].no_session = seed % 7 < 3 ? engine::NoSession::drop : engine::NoSession::reset;
  options.services[0].server_initiated = seed % 2 == 0 && seed % 11 < 5;
  options.limits.held_packets_per_session = 1 + seed % 4;
  options.limits.recoveries = 1 + seed % 6;
  options.limits.attempts = 1 + seed % 5;
  options.limits.waiting_sessions = 1 + seed % 3;
  return options;
}

}  // namespace

TEST_CASE("every packet gets exactly one verdict, and nothing stays for ever") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    NodeScript s(some_options(seed));
    const bool udp_service = seed % 3 == 0;
    if (dice.below(4) == 0) s.flows.capacity = 3;
    std::vector<Datagram> sent;
    const auto note = [&](const std::vector<Out>& outs) {
      for (const Out& out : outs) {
        if (const auto d = datagram(out)) sent.push_back(*d);
      }
    };
    for (int step = 0; step < 400; ++step) {
      switch (dice.below(8)) {
        case 0:
          note(s.advance(milliseconds(dice.below(150))));
          break;
        case 1:
        case 2:
          if (!sent.empty()) {
            const Datagram d = sent[dice.below(static_cast<std::uint32_t>(sent.size()))];
            const TuplePair pair{d.message.st1, {d.message.st1.src, d.to, d.message.protocol}};
            const Buffer answers[] = {rx_to(d), rs_to(d, pair), na(d.message.tuples()).cookie(d.message.cookie.value).build(),
                                      nc(d.message.tuples()).cookie(d.message.cookie.value).build(),
                                      nc(d.message.tuples()).cookie(d.message.cookie.value).client_side_conflict().build()};
            if (d.message.st2.src.port != 0 || d.message.type == wire::MsgType::QS) {
              note(s.message(answer_from(d), kNode,
                             answers[d.message.type == wire::MsgType::QS ? dice.below(2) : 2 + dice.below(3)]));
            }
          }
          break;
        case 3: {
          s.begin_burst();
          const std::uint32_t n = dice.below(8);
          for (std::uint32_t i = 0; i < n; ++i) s.packet(static_cast<Tap>(dice.below(3)), some_packet(dice, udp_service));
          note(s.end_burst());
          break;
        }
        case 4:
          if (dice.below(10) == 0) s.flows.entries.clear();
          if (dice.below(10) == 0) s.port_unreachable("10.0.0." + std::to_string(1 + dice.below(4)));
          if (dice.below(20) == 0) note(s.reconfigure(some_options(seed + 6 * dice.below(3))));
          break;
        default:
          note(s.packet(static_cast<Tap>(dice.below(3)), some_packet(dice, udp_service)));
      }
    }
    s.advance(seconds(5));
    const auto gauges = s.engine.gauges();
    CHECK(gauges.recoveries == 0);
    CHECK(gauges.held_packets == 0);
    CHECK(gauges.held_octets == 0);
    CHECK(gauges.waiting == 0);
    CHECK(gauges.attempts == 0);
  }
}

TEST_CASE("packets that do not parse: dropped without a session, left to the kernel with one") {
  NodeScript s(basic_options());
  for (const Buffer& junk : {Buffer{}, Buffer{0x45}, Buffer(20, 0x45), Buffer(60, 0xff)}) {
    CHECK(kinds(s.packet(Tap::first, junk)) == "drop");
    CHECK(kinds(s.packet(Tap::stray, junk)) == "drop");
    CHECK(kinds(s.packet(Tap::known, junk)) == "accept");
  }
  CHECK(s.counter(NodeCounter::drops_malformed) == 8);
}

TEST_CASE("at the raw tap: other services' packets end, other packets of ours go on to the next tap") {
  NodeScript s(basic_options());
  CHECK(kinds(s.packet(Tap::first, tcp(kClient, "198.51.100.77:80").syn().build())) == "drop");
  CHECK(kinds(s.packet(Tap::first, tcp(kClient, kVip).push().payload("x").build())) == "accept");
  CHECK(s.flows.installed.empty());
}

TEST_CASE("reload keeps what is in flight") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto q = datagram(outs[1]);
  auto other = basic_options();
  other.services[0].backends.push_back(backend("s5", "10.0.0.5:8080"));
  other.services.erase(other.services.begin() + 1);
  CHECK(s.reconfigure(other).empty());
  CHECK(s.engine.gauges().recoveries == 1);
  const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {q->to.address, 8080}, Protocol::tcp}};
  CHECK(kinds(s.message(answer_from(*q), kNode, rs_to(*q, pair))) == "send_flow");
}

TEST_CASE("reload ends what belongs to a service that is gone") {
  NodeScript s(full_nat_options());
  s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  s.packet(Tap::stray, tcp("10.0.0.1:8080", "10.1.0.1:2000").push().payload("x").build());
  s.packet(Tap::first, tcp("203.0.113.9:1", kVip).syn().build());
  s.packet(Tap::first, tcp("203.0.113.9:2", kVip).syn().options("0101131200000000000000000000000000000000").build());
  CHECK(s.engine.gauges().waiting == 1);
  auto other = full_nat_options();
  other.services.erase(other.services.begin());
  CHECK(s.reconfigure(other).empty());
  const auto gauges = s.engine.gauges();
  CHECK(gauges.recoveries + gauges.held_packets + gauges.held_octets + gauges.waiting + gauges.attempts == 0);
  CHECK(s.counter(NodeCounter::drops_reconfigured) == 2);
  CHECK(s.flows.entry(tcp_tuple("203.0.113.9:2", kVip)) == nullptr);
}

TEST_CASE("a session that an RS told under the old configuration is not made under one that forbids it [spec 5-3]") {
  NodeScript s(basic_options());
  const auto outs = s.packet(Tap::stray, tcp(kClient, kVip).push().payload("x").build());
  const auto first = datagram(outs[1]);
  const auto second = datagram(outs[2]);
  const TuplePair pair{tcp_tuple(kClient, kVip), {endpoint(kClient), {second->to.address, 8080}, Protocol::tcp}};
  CHECK(s.message(answer_from(*second), kNode, rs_to(*second, pair)).empty());  // the first in the list may still speak
  auto other = basic_options();
  for (auto& b : other.services[0].backends) {
    if (b.address.address == second->to.address) b.state = engine::BackendState::disabled;
  }
  CHECK(s.reconfigure(other).empty());
  for (const Out& out : s.message(answer_from(*first), kNode, rx_to(*first))) CHECK(datagram(out));
  s.advance(seconds(1));
  CHECK(s.flows.installed.empty());
  CHECK(s.engine.gauges().recoveries == 0);
}

TEST_CASE("reload in the middle of a burst: packets before it are decided by the old configuration") {
  NodeScript s(basic_options());
  s.begin_burst();
  s.packet(Tap::first, tcp(kClient, kVip).syn().build());
  auto other = basic_options();
  other.services.clear();
  s.reconfigure(other);
  s.packet(Tap::first, tcp(kClient, kVip).syn().build());
  CHECK(kinds(s.end_burst()) == "replace drop");
}

TEST_CASE("a joined server counts as a change of the pool from the moment of the reload (decision 14)") {
  auto options = udp_options(engine::ExplicitFirst::any);
  options.services[0].backends.resize(1);
  NodeScript s(options);
  auto joined = udp_options(engine::ExplicitFirst::any);
  policy::Epoch former;
  former.key = options.placement_key;
  former.members = {{"s1", 1}};
  joined.services[0].past_epochs = {former};
  s.reconfigure(joined);
  const auto queried = [&] {
    int n = 0;
    for (std::uint16_t port = 1; port <= 40; ++port) {
      const Buffer d = udp({address("203.0.113.7"), port}, endpoint("198.51.100.1:53")).payload("x").build();
      n += kinds(s.packet(Tap::stray, d)) != "drop send_flow";
    }
    return n;
  };
  CHECK(queried() > 10);
  s.advance(seconds(130));
  s.flows.entries.clear();
  s.reconfigure(joined);  // no change this time
  CHECK(queried() == 0);
}

TEST_CASE("the options in force are those given last") {
  NodeScript s(basic_options());
  CHECK(s.engine.options().services.size() == 2);
  auto other = basic_options();
  other.services.clear();
  s.reconfigure(other);
  CHECK(s.engine.options().services.empty());
}

TEST_CASE("gauges of engines that share a node's work add up, but for the holders that are gone: those are the same ones") {
  engine::NodeEngine::Gauges sum{1, 2, 3, 4, 5, 2, 6};
  sum += {10, 20, 30, 40, 50, 3, 60};
  sum += {100, 200, 300, 400, 500, 1, 600};
  CHECK(sum.recoveries == 111);
  CHECK(sum.held_packets == 222);
  CHECK(sum.held_octets == 333);
  CHECK(sum.waiting == 444);
  CHECK(sum.attempts == 555);
  CHECK(sum.holders_gone == 3);
  CHECK(sum.unprotected == 666);
}
