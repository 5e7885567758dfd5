// SPDX-License-Identifier: BSD-3-Clause
// Is a holder there? (decision 8)
#include "support/node_script.hpp"

using namespace asrp;
using namespace asrp::test;
using engine::EventKind;
using wire::MsgType;

namespace {

engine::NodeOptions one_server() {
  auto options = basic_options();
  options.services.resize(1);
  options.services[0].backends.resize(1);
  return options;
}

/// A script whose holder is under the test's control from the start.
struct Lone {
  explicit Lone(engine::NodeOptions options) : engine(std::move(options), flows, paths, random, events) {}
  std::vector<Datagram> wake(TimePoint now) {
    engine.on_timeout(now);
    engine.flush(now);
    std::vector<Datagram> sent;
    for (const engine::Output& o : engine.outbox().outputs()) {
      const Octets octets = engine.outbox().octets(o);
      sent.push_back(*datagram({o.kind, 0, 0, Buffer(octets.begin(), octets.end())}));
    }
    engine.outbox().clear();
    return sent;
  }
  FakeFlowTable flows;
  FakePaths paths;
  FakeRandom random;
  EventLog events;
  engine::NodeEngine engine;
};

TimePoint at(int milli) { return TimePoint{} + seconds(50) + milliseconds(milli); }

}  // namespace

TEST_CASE("every holder is asked at the start, and every 2 s, for a session that nobody has") {
  Lone n(basic_options());
  REQUIRE(n.engine.next_timeout());
  CHECK(*n.engine.next_timeout() <= at(0));
  const auto first = n.wake(at(0));
  REQUIRE(first.size() == 8);  // four servers with IPv4, four with IPv6
  std::set<std::uint32_t> cookies;
  for (const Datagram& d : first) {
    CHECK(d.message.type == MsgType::QS);
    CHECK(d.message.st1.src.address.is_unspecified());
    CHECK(d.message.st1.dst.port == 0);
    CHECK(d.to.port == 51200);
    cookies.insert(d.message.cookie.value);
  }
  CHECK(cookies.size() == 8);
  for (const Datagram& d : first) n.engine.on_message(at(1), answer_from(d), d.from.address, rx_to(d));
  CHECK(n.wake(at(20)).empty());
  CHECK(n.wake(at(1999)).empty());
  CHECK(n.wake(at(2000)).size() == 8);
}

TEST_CASE("very many holders are not asked all at once: each group has its moment, and keeps it also after a pause") {
  auto options = one_server();
  for (int i = 0; i < 999; ++i) {
    options.services[0].backends.push_back(
        backend("m" + std::to_string(i), "10.1." + std::to_string(i / 250) + "." + std::to_string(1 + i % 250) + ":8080"));
  }
  Lone n(options);
  const auto count_until = [&](int from, int to) {
    std::size_t asked = 0;
    for (int ms = from; ms < to; ++ms) {
      const auto sent = n.wake(at(ms));
      CHECK(sent.size() <= 64);
      asked += sent.size();
      for (const Datagram& d : sent) n.engine.on_message(at(ms), answer_from(d), d.from.address, rx_to(d));
    }
    return asked;
  };
  CHECK(count_until(0, 2000) == 1000);
  CHECK(count_until(2000, 4000) == 1000);
  for (const Datagram& d : n.wake(at(9700))) n.engine.on_message(at(9700), answer_from(d), d.from.address, rx_to(d));
  count_until(9701, 13000);
  CHECK(count_until(13000, 15000) == 1000);
}

TEST_CASE("a probe without an answer is repeated as every QS is, so that plain loss is no silence") {
  Lone n(one_server());
  const auto d = n.wake(at(0)).at(0);
  for (const int repeat : {20, 60, 140}) {
    CHECK(n.wake(at(repeat - 1)).empty());
    const auto again = n.wake(at(repeat));
    REQUIRE(again.size() == 1);
    CHECK(again[0].message.cookie == d.message.cookie);
    CHECK(again[0].from == d.from);
  }
  CHECK(n.wake(at(1999)).empty());
  n.engine.on_message(at(1999), answer_from(d), address("192.0.2.10"), rx_to(d));
  CHECK(n.events.count(EventKind::holder_alive) == 1);
  const auto next = n.wake(at(2000));
  REQUIRE(next.size() == 1);
  CHECK(next[0].message.cookie != d.message.cookie);
}

TEST_CASE("RX means alive; three silences mean gone; an answer ends it") {
  Lone n(one_server());
  const auto sight = [&n] { return n.engine.holder_sight(address("10.0.0.1")); };
  CHECK(sight() == engine::HolderSight::unknown);
  auto d = n.wake(at(0)).at(0);
  n.engine.on_message(at(1), answer_from(d), address("192.0.2.10"), rx_to(d));
  CHECK(n.events.count(EventKind::holder_alive) == 1);
  CHECK(sight() == engine::HolderSight::answers);
  CHECK(n.engine.holder_sight(address("10.9.9.9")) == engine::HolderSight::unknown);
  n.wake(at(2000));
  n.wake(at(4000));
  n.wake(at(6000));
  CHECK(n.engine.gauges().holders_gone == 0);
  CHECK(sight() == engine::HolderSight::answers);
  d = n.wake(at(8000)).at(0);
  CHECK(n.engine.gauges().holders_gone == 1);
  CHECK(sight() == engine::HolderSight::gone);
  CHECK(n.events.count(EventKind::holder_gone) == 1);
  n.wake(at(10000));
  CHECK(n.events.count(EventKind::holder_gone) == 1);  // told once
  d = n.wake(at(12000)).at(0);
  n.engine.on_message(at(12001), answer_from(d), address("192.0.2.10"), rx_to(d));
  CHECK(n.engine.gauges().holders_gone == 0);
  CHECK(sight() == engine::HolderSight::answers);
  CHECK(n.events.count(EventKind::holder_alive) == 2);
}

TEST_CASE("an answer in between begins the count anew") {
  Lone n(one_server());
  for (int i = 0; i < 20; ++i) {
    const auto d = n.wake(at(2000 * i)).at(0);
    if (i % 3 == 0) n.engine.on_message(at(2000 * i + 1), answer_from(d), address("192.0.2.10"), rx_to(d));
  }
  CHECK(n.engine.gauges().holders_gone == 0);
}

TEST_CASE("an answer with a wrong cookie, port or address proves nothing [spec 4.3.2-3]") {
  Lone n(one_server());
  const auto d = n.wake(at(0)).at(0);
  Datagram wrong = d;
  wrong.message.cookie.value ^= 1;
  n.engine.on_message(at(1), answer_from(d), address("192.0.2.10"), rx_to(wrong));
  n.engine.on_message(at(1), {d.to.address, static_cast<std::uint16_t>(d.from.port ^ 1)}, address("192.0.2.10"), rx_to(d));
  n.engine.on_message(at(1), {address("10.0.0.2"), d.from.port}, address("192.0.2.10"), rx_to(d));
  CHECK(n.events.count(EventKind::holder_alive) == 0);
  CHECK(n.engine.counters()[NodeCounter::discarded_cookie] == 1);
  CHECK(n.engine.counters()[NodeCounter::discarded_port] == 1);
  CHECK(n.engine.counters()[NodeCounter::discarded_unmatched] == 1);
}

TEST_CASE("port unreachable about a probe means gone at once") {
  NodeScript s(one_server());
  s.port_unreachable("10.0.0.1");
  CHECK(s.engine.gauges().holders_gone == 1);
  s.advance(seconds(2));  // the script's holder answers the next probe
  CHECK(s.engine.gauges().holders_gone == 0);
}

TEST_CASE("a holder that is gone is asked more often, each time once, so that its return is seen soon") {
  Lone n(one_server());
  Datagram d = n.wake(at(0)).at(0);
  n.engine.on_port_unreachable(at(1), {d.to.address, d.from.port, d.payload});
  std::size_t asked = 0;
  for (int ms = 2; ms <= 2001; ++ms) {
    for (const Datagram& probe : n.wake(at(ms))) {
      d = probe;
      ++asked;
    }
  }
  CHECK(asked == 8);
  n.engine.on_message(at(2001), answer_from(d), address("192.0.2.10"), rx_to(d));
  CHECK(n.engine.gauges().holders_gone == 0);
  asked = 0;
  for (int ms = 2500; ms < 6000; ++ms) {
    for (const Datagram& probe : n.wake(at(ms))) {
      n.engine.on_message(at(ms), answer_from(probe), address("192.0.2.10"), rx_to(probe));
      ++asked;
    }
  }
  CHECK(asked == 2);
}

TEST_CASE("port unreachable about a QS of a recovery means gone as well") {
  NodeScript s(one_server());
  const auto outs = s.packet(Tap::stray, tcp("203.0.113.7:1", "198.51.100.1:80").push().payload("x").build());
  s.port_unreachable(*datagram(outs.at(1)));
  CHECK(s.engine.gauges().holders_gone == 1);
}

TEST_CASE("port unreachable that quotes nothing of ours is forged, and has no effect") {
  Lone n(one_server());
  const Datagram probe = n.wake(at(0)).at(0);
  const engine::Unreachable real{probe.to.address, probe.from.port, probe.payload};
  const auto refused = [&](const engine::Unreachable& error) {
    const auto before = n.engine.counters()[NodeCounter::discarded_unreachable];
    n.engine.on_port_unreachable(at(1), error);
    CHECK(n.engine.counters()[NodeCounter::discarded_unreachable] == before + 1);
    CHECK(n.engine.gauges().holders_gone == 0);
  };
  engine::Unreachable forged = real;
  forged.source_port ^= 1;
  refused(forged);
  Buffer other = probe.payload;
  other[8] ^= 1;  // its cookie
  forged = {real.peer, real.source_port, other};
  refused(forged);
  forged = real;
  forged.peer = address("10.0.0.2");
  refused(forged);
  for (std::size_t size = 0; size < probe.payload.size(); ++size) {
    forged.peer = real.peer;
    forged.message = real.message.first(size);
    refused(forged);
  }
  const TuplePair pair{tcp_tuple("203.0.113.7:1", "198.51.100.1:80"), tcp_tuple("203.0.113.7:1", "10.0.0.1:8080")};
  const Buffer ns_octets = ns(pair).build();
  refused({real.peer, 51200, ns_octets});
  const Buffer unasked = qs(pair.client_side).cookie(7).build();
  refused({real.peer, real.source_port, unasked});
  n.engine.on_port_unreachable(at(1), real);
  CHECK(n.engine.gauges().holders_gone == 1);
}

TEST_CASE("holder = no is not probed, and neither is who left the configuration") {
  auto options = one_server();
  options.services[0].backends.push_back(backend("s2", "10.0.0.2:8080"));
  options.services[0].backends[1].holder = engine::HolderPresence::no;
  Lone n(options);
  CHECK(n.wake(at(0)).size() == 1);
  auto other = one_server();
  other.services[0].backends[0] = backend("s9", "10.0.0.9:8080");
  n.engine.reconfigure(at(10), other);
  const auto sent = n.wake(at(2000));
  for (const Datagram& d : sent) CHECK(d.to.address == address("10.0.0.9"));
  CHECK_FALSE(sent.empty());
}

TEST_CASE("a holder that leaves the configuration and comes back is asked as often as before") {
  auto options = one_server();
  options.timing.query_repeats.clear();
  Lone n(options);
  auto none = options;
  none.services[0].backends.clear();
  n.wake(at(0));
  for (int i = 1; i <= 5; ++i) {
    n.engine.reconfigure(at(i), none);
    n.engine.reconfigure(at(i), options);
  }
  n.wake(at(10));
  std::size_t asked = 0;
  for (int ms = 20; ms <= 20020; ms += 10) {
    for (const Datagram& d : n.wake(at(ms))) {
      n.engine.on_message(at(ms), answer_from(d), d.from.address, rx_to(d));
      ++asked;
    }
  }
  CHECK(asked == 10);
}
