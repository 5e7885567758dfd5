// SPDX-License-Identifier: BSD-3-Clause
#include "support/holder_lab.hpp"

namespace asrp::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Duration kOneTick = milliseconds(63);  // timers may be late by this, never early

TuplePair numbered(int i) { return nat_session("203.0.113.7:" + std::to_string(1000 + i)); }

std::string_view last_release(const HolderLab& lab) {
  for (auto event = lab.log.events.rbegin(); event != lab.log.events.rend(); ++event) {
    if (event->kind == engine::EventKind::backup_released) return event->detail;
  }
  return {};
}

// --- TCP, decision 18 ------------------------------------------------------------------------------------------------------

TEST_CASE("a backup whose socket never appears is kept for 75 s") {
  HolderLab lab;
  store(lab, nat_session());
  CHECK(lab.embryonic() == 1);
  lab.wait(seconds(74));
  CHECK(lab.knows(nat_session().client_side));
  lab.wait(seconds(1) + kOneTick);
  CHECK(!lab.knows(nat_session().client_side));
  CHECK(lab.backups() == 0);
  CHECK(lab.store.size() == 0);
  CHECK(lab.count(HolderCounter::released_never_seen) == 1);
  CHECK(last_release(lab) == "never seen");
  CHECK(!lab.engine->next_timeout());
}

TEST_CASE("once its socket is seen a backup stays for as long as nobody reports its end") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::live);
  lab.wait(seconds(2));
  CHECK(lab.embryonic() == 0);
  CHECK(!lab.engine->next_timeout());
  lab.wait(std::chrono::hours(100));
  CHECK(lab.knows(nat_session().client_side));
  CHECK(lab.sessions.looked_up == 1);
}

TEST_CASE("a socket that appears late, after SYN cookies say, is seen at the last look") {
  HolderLab lab;
  store(lab, nat_session());
  lab.wait(seconds(30));
  lab.sessions.known[nat_session().server_side] = LocalState::live;
  lab.wait(seconds(100));
  CHECK(lab.knows(nat_session().client_side));
  CHECK(lab.embryonic() == 0);
}

TEST_CASE("a socket in SYN-RECV is no session yet") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::opening);
  lab.wait(seconds(2));
  CHECK(lab.embryonic() == 1);
  lab.sessions.known.clear();
  lab.wait(seconds(80));
  CHECK(lab.backups() == 0);
}

TEST_CASE("an end notice is the occasion for a look-up: no socket left, released at once") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::live);
  lab.wait(seconds(5));
  lab.sessions.known.clear();
  lab.ended(nat_session().server_side);
  CHECK(lab.engine->next_timeout() == lab.now);
  lab.wait(Duration(0));
  CHECK(lab.backups() == 0);
  CHECK(lab.store.size() == 0);
  CHECK(last_release(lab) == "session ended");
  CHECK(lab.count(HolderCounter::notices) == 1);
}

TEST_CASE("server closes first: the backup stays through FIN-WAIT-2 and TIME-WAIT and ends with them") {
  HolderLab lab;
  const Tuple tuple = nat_session().server_side;
  store(lab, nat_session(), LocalState::live);
  lab.wait(seconds(5));
  SUBCASE("FIN-WAIT-2 looks like a live socket") {}
  SUBCASE("FIN-WAIT-2 looks like TIME-WAIT") { lab.sessions.known[tuple] = LocalState::time_wait; }
  lab.ended(tuple);
  CHECK(lab.quiet());
  lab.wait(seconds(59));
  CHECK(lab.knows(tuple));
  lab.sessions.known[tuple] = LocalState::time_wait;
  lab.wait(seconds(2));
  CHECK(lab.knows(tuple));
  lab.sessions.known.clear();
  lab.wait(seconds(59));
  CHECK(!lab.knows(tuple));
  CHECK(lab.count(HolderCounter::released_ended) == 1);
}

TEST_CASE("a short connection whose end is told before the first look is released by the notice") {
  HolderLab lab;
  store(lab, nat_session());
  lab.wait(milliseconds(10));
  lab.ended(nat_session().server_side);
  CHECK(lab.quiet());
  CHECK(lab.backups() == 0);
}

TEST_CASE("the notice of an earlier session with the same tuple does not release the new one's backup") {
  HolderLab lab;
  const TuplePair session = nat_session();
  store(lab, session, LocalState::live);
  lab.wait(seconds(5));
  SUBCASE("same mapping: the NS refreshed the backup") {
    lab.sessions.known.clear();
    store(lab, session);
  }
  SUBCASE("another mapping took the older one's place") {
    lab.sessions.known.clear();
    TuplePair newer = session;
    newer.client_side.dst.port = 443;
    store(lab, newer);
  }
  lab.ended(session.server_side);  // of the old socket; the new SYN is on its way to the stack
  lab.wait(milliseconds(100));
  CHECK(lab.count(HolderCounter::notices_early) == 1);
  CHECK(lab.backups() == 1);
  lab.sessions.known[session.server_side] = LocalState::live;
  lab.wait(seconds(200));
  CHECK(lab.backups() == 1);
  lab.sessions.known.clear();
  lab.ended(session.server_side);
  CHECK(lab.quiet());
  CHECK(lab.backups() == 0);
}

TEST_CASE("a notice of a session without a backup is counted and nothing more") {
  HolderLab lab;
  store(lab, nat_session());
  lab.ended(numbered(5).server_side);
  CHECK(lab.quiet());
  CHECK(lab.count(HolderCounter::notices_foreign) == 1);
  CHECK(lab.sessions.looked_up == 0);
}

TEST_CASE("embryonic backups have a bounded part of the store; those with a socket are never evicted") {
  auto options = HolderLab::default_options();
  options.max_embryonic = 10;
  HolderLab lab(options);
  for (int i = 0; i < 5; ++i) store(lab, numbered(i), LocalState::live);  // not looked at yet: embryonic in name
  for (int i = 5; i < 200; ++i) store(lab, numbered(i));
  CHECK(lab.embryonic() <= 10);
  for (int i = 0; i < 5; ++i) CHECK(lab.knows(numbered(i).client_side));
  CHECK(lab.knows(numbered(199).client_side));
  CHECK(!lab.knows(numbered(5).client_side));
  CHECK(lab.count(HolderCounter::released_evicted) == 195 - 10);
  CHECK(lab.store.size() == 15);
}

TEST_CASE("a flood inside one burst: the oldest go, the burst's own stay within the bound or are refused") {
  auto options = HolderLab::default_options();
  options.max_embryonic = 8;
  HolderLab lab(options);
  for (int i = 0; i < 8; ++i) store(lab, numbered(i));
  for (int i = 8; i < 28; ++i) lab.in(syn_with(numbered(i), ns_of(numbered(i))));
  CHECK(lab.burst().size() == 20);
  CHECK(lab.embryonic() == 8);
  CHECK(lab.count(HolderCounter::released_evicted) == 8);
  CHECK(lab.count(HolderCounter::store_full) == 12);
}

TEST_CASE("a million spoofed SYNs: bounded, and the established sessions keep their backups") {
  auto options = HolderLab::default_options();
  options.max_embryonic = 4096;
  HolderLab lab(options);
  store(lab, nat_session("203.0.113.99:1"), LocalState::live);
  lab.wait(seconds(2));
  lab.log.events.reserve(1 << 16);
  const Buffer syn = syn_with(nat_session("203.0.113.1:1"), ns_of(nat_session("203.0.113.1:1")));
  const TuplePair model = nat_session();
  constexpr int kFlood = 20'000;  // five times the bound; more of the same would only take longer
  for (int i = 0; i < kFlood; ++i) {
    TuplePair session = model;
    const IpAddress spoofed = IpAddress::v4(0x0b000000u + static_cast<std::uint32_t>(i));
    session.client_side.src.address = session.server_side.src.address = spoofed;
    lab.in(syn_with(session, ns_of(session)));
    if (i % 64 == 63) {
      lab.burst();
      lab.now += milliseconds(1);
    }
  }
  lab.burst();
  CHECK(lab.embryonic() <= 4096);
  CHECK(lab.backups() <= 4097);
  CHECK(lab.knows(nat_session("203.0.113.99:1").client_side));
}

// --- UDP, decision 19 ------------------------------------------------------------------------------------------------------

TEST_CASE("UDP: conntrack's DESTROY begins a linger of 300 s, then conntrack is asked once more") {
  HolderLab lab;
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(10));
  lab.sessions.known.clear();
  lab.ended(udp_session().server_side);
  const std::size_t asked = lab.sessions.looked_up;
  lab.wait(seconds(299));
  CHECK(lab.knows(udp_session().client_side));
  CHECK(lab.sessions.looked_up == asked);
  SUBCASE("nothing there: released") {
    lab.wait(seconds(1) + kOneTick);
    CHECK(lab.backups() == 0);
    CHECK(last_release(lab) == "flow ended");
    CHECK(lab.sessions.looked_up == asked + 1);
  }
  SUBCASE("the flow is there again: the backup stays until the next DESTROY") {
    lab.sessions.known[udp_session().server_side] = LocalState::live;
    lab.wait(seconds(1000));
    CHECK(lab.backups() == 1);
    lab.sessions.known.clear();
    lab.ended(udp_session().server_side);
    lab.wait(seconds(300) + kOneTick);
    CHECK(lab.backups() == 0);
  }
}

TEST_CASE("UDP: a flow that nothing has answered is embryonic: a flood of them is bounded, and flows with answers stay") {
  auto options = HolderLab::default_options();
  options.max_embryonic = 10;
  HolderLab lab(options);
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(2));
  for (int i = 0; i < 100; ++i) {
    store(lab, nat_session("203.0.113.9:" + std::to_string(1000 + i), Protocol::udp), LocalState::opening);
    lab.wait(milliseconds(500));
  }
  CHECK(lab.embryonic() == 10);
  CHECK(lab.backups() == 11);
  CHECK(lab.knows(udp_session().client_side));
  CHECK(lab.count(HolderCounter::released_evicted) == 90);
}

TEST_CASE("UDP: a flow that is answered late is a session from then on") {
  HolderLab lab;
  store(lab, udp_session(), LocalState::opening);
  lab.wait(seconds(20));
  CHECK(lab.embryonic() == 1);
  lab.sessions.known[udp_session().server_side] = LocalState::live;
  lab.wait(seconds(75));
  CHECK(lab.embryonic() == 0);
  CHECK(lab.knows(udp_session().client_side));
}

TEST_CASE("UDP: the linger is the local port's") {
  auto options = HolderLab::default_options();
  options.services = {{.protocol = Protocol::udp, .port = 8080, .udp_linger = seconds(10)}};
  HolderLab lab(options);
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(5));
  lab.sessions.known.clear();
  lab.ended(udp_session().server_side);
  lab.wait(seconds(9));
  CHECK(lab.backups() == 1);
  lab.wait(seconds(1) + kOneTick);
  CHECK(lab.backups() == 0);
}

TEST_CASE("UDP: DESTROY before the first look lingers too, a second DESTROY begins it anew") {
  HolderLab lab;
  store(lab, udp_session());
  lab.ended(udp_session().server_side);
  lab.wait(seconds(200));
  lab.ended(udp_session().server_side);
  lab.wait(seconds(299));
  CHECK(lab.backups() == 1);
  lab.wait(seconds(2));
  CHECK(lab.backups() == 0);
}

TEST_CASE("UDP: a flow that conntrack never showed lingers after its 75 s") {
  HolderLab lab;
  store(lab, udp_session());
  lab.wait(seconds(374));
  CHECK(lab.backups() == 1);
  lab.wait(seconds(2));
  CHECK(lab.backups() == 0);
}

TEST_CASE("UDP: an NS during the linger begins a new life") {
  HolderLab lab;
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(5));
  lab.sessions.known.clear();
  lab.ended(udp_session().server_side);
  lab.wait(seconds(290));
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(1000));
  CHECK(lab.backups() == 1);
}

// --- reconciling -----------------------------------------------------------------------------------------------------------

TEST_CASE("lost notices: all are looked at, in slices, what ended is released, what lives stays") {
  HolderLab lab;
  for (int i = 0; i < 1500; ++i) {
    lab.in(syn_with(numbered(i), ns_of(numbered(i))));
    lab.sessions.known[numbered(i).server_side] = LocalState::live;
  }
  CHECK(lab.burst().size() == 1500);
  lab.wait(seconds(3));
  CHECK(lab.embryonic() == 0);
  for (int i = 0; i < 1500; i += 2) lab.sessions.known.erase(numbered(i).server_side);
  lab.sessions.largest = 0;
  lab.engine->on_notices_lost(lab.now);
  lab.wait(seconds(1));
  CHECK(lab.backups() == 750);
  CHECK(lab.sessions.largest <= 256);
  CHECK(lab.knows(numbered(1).client_side));
  CHECK(!lab.knows(numbered(0).client_side));
  CHECK(lab.count(HolderCounter::reconciliations) == 1);
  CHECK(!lab.engine->next_timeout());
}

TEST_CASE("first looks of many new sessions are spread over bursts of a bounded size") {
  HolderLab lab;
  for (int i = 0; i < 2000; ++i) lab.in(syn_with(numbered(i), ns_of(numbered(i))));
  lab.burst();
  lab.wait(seconds(2));
  CHECK(lab.sessions.largest <= 128);
  CHECK(lab.sessions.looked_up == 2000);
}

TEST_CASE("a notice without the peer's port leads to a look at all, at most every 30 s") {
  HolderLab lab;
  for (int i = 0; i < 3; ++i) store(lab, numbered(i), LocalState::live);
  lab.wait(seconds(60));
  Tuple reset = numbered(0).server_side;
  lab.sessions.known.erase(reset);
  reset.src.port = 0;
  lab.ended(reset);
  lab.wait(seconds(1));
  CHECK(lab.backups() == 2);
  lab.sessions.known.clear();
  lab.ended(reset);
  lab.ended(reset);
  lab.wait(seconds(28));
  CHECK(lab.backups() == 2);
  lab.wait(seconds(4));
  CHECK(lab.backups() == 0);
  CHECK(lab.count(HolderCounter::reconciliations) == 2);
  CHECK(lab.count(HolderCounter::notices_partial) == 3);
}

TEST_CASE("the end of a listener is nothing to us") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::live);
  lab.wait(seconds(60));
  lab.ended({{}, endpoint("10.0.0.1:8080"), Protocol::tcp});
  CHECK(!lab.engine->next_timeout());
}

TEST_CASE("a reconciliation meets UDP flows that ended unnoticed: they linger") {
  HolderLab lab;
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(10));
  lab.sessions.known.clear();
  lab.engine->on_notices_lost(lab.now);
  lab.wait(seconds(299));
  CHECK(lab.backups() == 1);
  lab.wait(seconds(2));
  CHECK(lab.backups() == 0);
}

TEST_CASE("a reconciliation meets a session in FIN-WAIT-2: it is followed to its end") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::live);
  lab.wait(seconds(10));
  lab.sessions.known[nat_session().server_side] = LocalState::time_wait;
  lab.engine->on_notices_lost(lab.now);
  lab.wait(seconds(30));
  CHECK(lab.backups() == 1);
  lab.sessions.known.clear();
  lab.wait(seconds(31));
  CHECK(lab.backups() == 0);
}

TEST_CASE("notices lost again and again during one reconciliation do not keep it from ending") {
  HolderLab lab;
  for (int i = 0; i < 1200; ++i) {
    lab.in(syn_with(numbered(i), ns_of(numbered(i))));
    lab.sessions.known[numbered(i).server_side] = LocalState::live;
  }
  lab.burst();
  lab.wait(seconds(3));
  lab.sessions.known.clear();
  for (int i = 0; i < 10; ++i) {
    lab.engine->on_notices_lost(lab.now);
    lab.wait(milliseconds(5));
  }
  CHECK(lab.backups() == 0);
}

// --- starting again, decision 15 -------------------------------------------------------------------------------------------

TEST_CASE("after a restart every backup that counts is answered for, and sessions that are gone end") {
  HolderLab lab;
  const TuplePair live = numbered(0);
  const TuplePair gone = numbered(1);
  const TuplePair closing = numbered(2);
  const TuplePair fresh = numbered(3);
  for (const TuplePair& each : {live, gone, closing}) store(lab, each, LocalState::live);
  store(lab, udp_session(), LocalState::live);
  lab.wait(seconds(10));
  store(lab, fresh);
  lab.store.crash();
  lab.sessions.known.erase(gone.server_side);
  lab.sessions.known[closing.server_side] = LocalState::time_wait;
  lab.sessions.known.erase(udp_session().server_side);
  lab.now += seconds(1);
  lab.start();
  CHECK(lab.count(HolderCounter::backups_loaded) == 5);
  for (const TuplePair& each : {live, closing, fresh, udp_session()}) CHECK(lab.knows(each.client_side));
  lab.sessions.known.erase(closing.server_side);
  lab.wait(seconds(80));  // those without a socket may have been in a handshake: they get the time for it
  CHECK(lab.knows(live.client_side));
  CHECK(!lab.knows(gone.client_side));
  CHECK(!lab.knows(closing.client_side));
  CHECK(!lab.knows(fresh.client_side));
  CHECK(lab.knows(udp_session().client_side));
  lab.wait(seconds(221));
  CHECK(!lab.knows(udp_session().client_side));
  CHECK(lab.backups() == 1);
  CHECK(lab.store.size() == 1);
}

TEST_CASE("a restart with more backups than one batch of look-ups") {
  HolderLab lab;
  for (int i = 0; i < 1025; ++i) {
    lab.in(syn_with(numbered(i), ns_of(numbered(i))));
    lab.sessions.known[numbered(i).server_side] = LocalState::live;
  }
  lab.burst();
  lab.sessions.largest = 0;
  lab.start();
  CHECK(lab.backups() == 1025);
  CHECK(lab.embryonic() == 0);
  CHECK(lab.sessions.largest <= 512);
  CHECK(!lab.engine->next_timeout());
}

TEST_CASE("damaged records of the store are erased and counted; the others are served") {
  HolderLab lab;
  store(lab, nat_session(), LocalState::live);
  const Buffer good = [&] {
    const Octets record = lab.store.get(0);
    return Buffer(record.begin(), record.end());
  }();
  lab.store.put(1, hex("ffffffff"));
  lab.store.put(7, good);           // a tuple twice
  lab.store.put(0xFFFFFFFF, good);  // no slot of ours
  lab.store.put(9, {});
  lab.store.commit();
  lab.start();
  CHECK(lab.count(HolderCounter::backups_loaded) == 1);
  CHECK(lab.count(HolderCounter::backups_damaged) == 4);
  CHECK(lab.store.size() == 1);
  CHECK(lab.knows(nat_session().server_side));
}

TEST_CASE("a kill between any two calls of the store loses nothing that counts") {
  // The script of one life: NS, NS refreshed with another cookie, a conflict that replaces, and a release. For each number of
  // calls the process is killed in front of that call; whoever was told to be stored must then be answered for.
  for (std::size_t kill = 1;; ++kill) {
    HolderLab lab;
    const TuplePair a = full_nat_session("203.0.113.7:1", "10.9.0.1:2000");
    const TuplePair b = full_nat_session("203.0.113.8:1", "10.9.0.1:2001");
    const TuplePair c = full_nat_session("203.0.113.9:1", "10.9.0.1:2000");
    std::vector<TuplePair> promised;
    bool killed = false;
    lab.store.killed_at = kill;
    const auto promise = [&](const TuplePair& session, std::uint32_t cookie) {
      lab.in(syn_with(session, ns_of(session).cookie(cookie)));
      const auto outs = lab.burst();  // not reached when killed: nothing of the outbox has left
      if (outs.at(0).kind == OutputKind::replace) promised.push_back(session);
    };
    try {
      promise(a, 1);
      promise(b, 1);
      promise(b, 2);
      lab.sessions.known[b.server_side] = LocalState::live;
      lab.wait(seconds(2));
      std::erase(promised, a);  // its socket never came, and c takes its port
      promise(c, 1);
      std::erase(promised, b);
      lab.sessions.known.clear();
      lab.ended(b.server_side);
      lab.quiet();
    } catch (const Killed&) {
      killed = true;
    }
    lab.store.killed_at.reset();
    lab.store.crash();
    HolderLab after;
    after.store = lab.store;
    after.start();
    for (const TuplePair& session : promised) {
      CAPTURE(kill);
      CHECK(after.knows(session.client_side));
      CHECK(after.knows(session.server_side));
    }
    if (!killed) {
      CHECK(kill > 20);
      break;
    }
  }
}

}  // namespace
}  // namespace asrp::test
