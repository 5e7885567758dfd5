// SPDX-License-Identifier: BSD-3-Clause
#include "report/follow.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tape.hpp"

using namespace asrp;
using namespace asrp::test;
using namespace asrp::test::lab;
using wire::MsgType;

namespace {

/// Writes down what the follower says.
class Log : public dump::Report, private dump::FollowListener {
 public:
  explicit Log(dump::FollowOptions options = {}) : follower(options, *this) {}
  void on_packet(const dump::Packet& packet) override { follower.on_packet(packet); }
  void finish() override { follower.finish(); }

  dump::Follower follower;
  std::vector<std::string> lines;
  std::vector<std::int64_t> held;  // microseconds
  int altered = 0;

 private:
  void on_heard(const dump::Heard& heard) override {
    std::string line = std::to_string(heard.seen.at.number) + " ";
    line += heard.message != nullptr ? std::string(wire::to_string(heard.message->type)) : "flow";
    line += heard.side == dump::Side::none ? "" : heard.side == dump::Side::client ? " client" : " server";
    if (heard.side != dump::Side::none) line += heard.to_server ? ">" : "<";
    if (heard.session != nullptr) line += " #" + std::to_string(heard.session->id);
    if (heard.copy) line += " copy";
    if (heard.probe) line += " probe";
    if (heard.again) line += " again";
    if (heard.remapped) line += " remapped";
    if (heard.came) line += " from " + std::to_string(heard.came->at.number);
    if (heard.came) held.push_back((heard.seen.at.time - heard.came->at.time) / 1000);
    if (heard.altered) ++altered;
    lines.push_back(line);
  }
  void on_gone(dump::Session& session) override { lines.push_back("gone #" + std::to_string(session.id)); }
};

/// How well the answers fit their queries.
struct Fits : dump::Report, dump::FollowListener {
  dump::Follower follower{{}, *this};
  std::vector<dump::Fit> fits;
  void on_packet(const dump::Packet& packet) override { follower.on_packet(packet); }
  void finish() override {}
  void on_heard(const dump::Heard& heard) override {
    if (heard.is(MsgType::RS) || heard.is(MsgType::RX)) fits.push_back(heard.fit);
  }
  void on_gone(dump::Session&) override {}
};

using Lines = std::vector<std::string>;

const Tuple& kSt1 = kPair.client_side;
const Tuple& kSt2 = kPair.server_side;

}  // namespace

TEST_CASE("the first packet came before its message: it is held by the node from its first sighting on") {
  Log log;
  Tape tape(log);
  tape.add(tcp(kSt1).syn().build());
  tape.after_us(300).add(inline_of(tcp(kSt2).syn().build(), ns(kPair).node(kNode1)));
  tape.add(tcp(kSt2.reversed()).syn_ack().seq(7).build());
  tape.after_us(40).add(tcp(kSt1.reversed()).syn_ack().seq(7).build());
  CHECK(log.lines == Lines{"1 flow client> #1", "2 NS server> #1 from 1", "3 flow server< #1", "4 flow client< #1 from 3"});
  CHECK(log.held == std::vector<std::int64_t>{300, 40});
}

TEST_CASE("one packet at several points is one: the same identification, or a lower TTL") {
  Log log;
  Tape tape(log);
  const auto message = ns(kPair).node(kNode1);
  tape.add(inline_of(tcp(kSt2).syn().ttl(63).build(), message));
  tape.add(inline_of(tcp(kSt2).syn().ttl(62).build(), message));                    // next hop
  tape.add(inline_of(tcp(kSt2).syn().identification(9).ttl(63).build(), message));  // the sender repeats it
  tape.add(standalone("10.9.0.1:1000", "10.0.0.1:51200", qs(kSt1).cookie(1), 0));   // no identification
  tape.wait_ms(20).add(standalone("10.9.0.1:1000", "10.0.0.1:51200", qs(kSt1).cookie(1), 0));
  CHECK(log.lines == Lines{"1 NS server> #1", "2 NS server> #1 copy", "3 NS server> #1", "4 QS #1", "5 QS #1 again"});
  log.finish();
}

TEST_CASE("IPv6: a repetition with the same TTL is a new one, the next hop is not, nor the same interface pair") {
  Log log;
  Tape tape(log);
  const TuplePair pair{tcp_tuple("[2001:db8::7]:4000", "[2001:db8:f::1]:80"), tcp_tuple("[2001:db8::7]:4000", "[fd00::1]:80")};
  const auto at = [&](std::uint8_t ttl) {
    return inline_of(tcp(pair.server_side).syn().ttl(ttl).build(), ns(pair).node("fd00::9"));
  };
  tape.add(at(62));
  tape.after_us(500).add(at(62));  // two interfaces of one bridge
  tape.add(at(61));
  tape.wait_ms(200).add(at(62));
  CHECK(log.lines == Lines{"1 NS server> #1", "2 NS server> #1 copy", "3 NS server> #1 copy", "4 NS server> #1"});
}

TEST_CASE("a query makes a session known, the answer tells its other side, and what came before is looked up") {
  Log log;
  Tape tape(log);
  tape.add(tcp(kSt1).push().payload("GET").build());
  tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kSt1).cookie(5)));
  tape.add(standalone("10.9.0.2:1000", "10.0.0.2:51200", qs(kSt1).cookie(5)));
  tape.add(standalone("10.0.0.2:1000", "10.9.0.2:51200", rx(kSt1).cookie(5)));
  tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rs(kPair).cookie(5)));
  tape.add(tcp(kSt2).push().payload("GET").build());
  CHECK(log.lines == Lines{"2 QS #1", "3 QS #1", "4 RX #1", "1 flow client> #1", "5 RS #1", "6 flow server> #1 from 1"});
  CHECK(log.held == std::vector<std::int64_t>{5000});
}

TEST_CASE("a probe asks for no session") {
  Log log;
  Tape tape(log);
  const Tuple zero{{}, {}, Protocol::tcp};
  tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(zero).cookie(5)));
  tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rx(zero).cookie(5)));
  tape.end();
  CHECK(log.lines == Lines{"1 QS probe", "2 RX probe"});
}

TEST_CASE("NC and another mapping: one session, and the tuple goes back to the one that has it") {
  Log log;
  Tape tape(log);
  const Tuple vip = tcp_tuple("203.0.113.7:40000", "198.51.100.1:80");
  const TuplePair old{tcp_tuple("203.0.113.9:5000", "198.51.100.1:80"), tcp_tuple("192.0.2.1:20000", "10.0.0.1:80")};
  const TuplePair taken{vip, old.server_side};
  const TuplePair free{vip, tcp_tuple("192.0.2.1:20001", "10.0.0.1:80")};
  tape.add(inline_of(tcp(old.server_side).syn().seq(1).build(), ns(old).node(kNode1)));
  tape.add(inline_of(tcp(taken.server_side).syn().seq(50).build(), ns(taken).node(kNode1).cookie(3)));
  tape.add(standalone("10.0.0.1:51200", "10.9.0.1:51200", nc(old).cookie(3)));  // its ST2 may be the other session's
  tape.add(standalone("10.0.0.1:51200", "10.9.0.1:51200", nc(taken).cookie(3)));
  tape.add(inline_of(tcp(free.server_side).syn().seq(50).build(), ns(free).node(kNode1).cookie(4)));
  tape.add(tcp(old.server_side).push().payload("x").build());
  tape.add(tcp(free.server_side).push().payload("x").build());
  CHECK(log.lines == Lines{"1 NS server> #1", "2 NS server> #2", "3 NC #1", "4 NC #2", "5 NS server> #2 remapped",
                           "6 flow server> #1", "7 flow server> #2"});
}

TEST_CASE("a SYN with another sequence number begins another session, a repeated one does not") {
  Log log;
  Tape tape(log);
  const auto open = [&](std::uint32_t seq, std::uint16_t id) {
    tape.add(tcp(kSt1).syn().seq(seq).identification(id).build());
    tape.add(inline_of(tcp(kSt2).syn().seq(seq).identification(id).build(), ns(kPair).node(kNode1)));
  };
  open(1000, 1);
  open(1000, 2);
  open(9000, 3);
  CHECK(log.lines == Lines{"1 flow client> #1", "2 NS server> #1 from 1", "3 flow client> #1", "4 NS server> #1 from 3",
                           "gone #1", "5 flow client> #2", "6 NS server> #2 from 5"});
}

TEST_CASE("a SYN whose sequence number the node altered is no other session") {
  Log log;
  Tape tape(log);
  tape.add(tcp(kSt1).syn().seq(1000).build());
  tape.add(inline_of(tcp(kSt2).syn().seq(1001).build(), ns(kPair).node(kNode1)));
  CHECK(log.altered == 1);
  CHECK(log.lines == Lines{"1 flow client> #1", "2 NS server> #1"});
}

TEST_CASE("sessions leave when they are idle, sooner when they ended, and when there are too many") {
  Log log({.max_sessions = 2, .idle = std::chrono::seconds(10), .ended = std::chrono::seconds(1)});
  Tape tape(log);
  const auto pair = [](int client) {
    const std::string source = "203.0.113.7:" + std::to_string(client);
    return TuplePair{tcp_tuple(source, "198.51.100.1:80"), tcp_tuple(source, "10.0.0.1:80")};
  };
  const auto open = [&](int client) {
    tape.add(inline_of(tcp(pair(client).server_side).syn().build(), ns(pair(client)).node(kNode1)));
  };
  open(1);
  tape.add(tcp(pair(1).server_side).rst().build());
  tape.wait_ms(2000);
  open(2);
  open(3);
  open(4);
  CHECK(log.follower.forgotten() == 1);
  tape.wait_ms(11000);
  open(5);
  tape.end();
  CHECK(log.lines == Lines{"1 NS server> #1", "2 flow server> #1", "gone #1", "3 NS server> #2", "4 NS server> #3", "gone #2",
                           "5 NS server> #4", "gone #3", "gone #4", "6 NS server> #5", "gone #5"});
  CHECK(log.follower.live() == 0);
}

TEST_CASE("a packet with a wrong stamp doesn't make sessions old") {
  Log log;
  Tape tape(log);
  const auto talk = [&](const char* text) { tape.add(tcp(kSt2).push().payload(text).build()); };
  tape.add(inline_of(tcp(kSt2).syn().build(), ns(kPair).node(kNode1)));
  for (const std::int64_t off : {-1'750'000'000, 1'000'000'000, 100'000}) {
    tape.off_by_s(off).add(tcp(tcp_tuple("192.0.2.1:1", "192.0.2.2:2")).build());
    tape.off_by_s(0);
    talk("a");
    talk("b");
  }
  const TuplePair other{tcp_tuple("203.0.113.8:1", "198.51.100.1:80"), tcp_tuple("203.0.113.8:1", "10.0.0.1:80")};
  tape.add(inline_of(tcp(other.server_side).syn().build(), ns(other).node(kNode1)));
  talk("c");
  CHECK(log.follower.live() == 2);
  tape.off_by_s(1000);  // within an hour: silence
  talk("d");
  CHECK(log.follower.live() == 0);
}

TEST_CASE("a capture from before 1970 is a capture") {
  Log log;
  Tape tape(log);
  tape.off_by_s(-1'750'000'000).add(inline_of(tcp(kSt2).syn().build(), ns(kPair).node(kNode1)));
  tape.add(tcp(kSt2).push().payload("a").build());
  CHECK(log.lines == Lines{"1 NS server> #1", "2 flow server> #1"});
}

TEST_CASE("sessions that hold much leave sooner: what all of them occupy is bounded") {
  constexpr std::size_t kMost = 200'000;
  Log log({.max_octets = kMost});
  Tape tape(log);
  std::size_t most = 0;
  for (int client = 1; client <= 40; ++client) {
    const Tuple tuple = tcp_tuple("203.0.113.7:" + std::to_string(client), "198.51.100.1:80");
    for (std::uint32_t cookie = 1; cookie <= 70; ++cookie) {
      tape.add(standalone("10.9.0.1:1000", "10.0.0.1:51200", qs(tuple).cookie(cookie)));
      most = std::max(most, log.follower.octets());
    }
  }
  CHECK(most < kMost + 20'000);  // the session at hand is only weighed when it has grown
  CHECK(most > kMost / 2);
  CHECK(log.follower.live() < 20);
  CHECK(log.follower.live() + log.follower.forgotten() == 40);
}

TEST_CASE("queries that are alike don't make their answers expensive") {
  Log log;
  Tape tape(log);
  constexpr std::uint64_t kAnswers = 500;
  const auto tuple = [](std::uint64_t n) { return tcp_tuple("203.0.113.7:" + std::to_string(n + 1), "198.51.100.1:80"); };
  const auto port = [](std::uint64_t n) { return std::to_string(n + 1024); };
  for (std::uint64_t n = 0; n < dump::Queries::kKept; ++n) {
    tape.add(standalone("10.9.0.1:" + port(n), "10.0.0.1:51200", qs(tuple(n % 500)).cookie(0), 0));
  }
  for (std::uint64_t n = 0; n < kAnswers; ++n) {
    tape.add(standalone("10.0.0.9:60000", "10.9.0.7:51200", rx(tuple(n)).cookie(0), 0));
  }
  CHECK(log.follower.queries().looked_at() <= 3 * kAnswers * dump::Queries::kMostAlike);
  const std::uint64_t before = log.follower.queries().looked_at();
  for (std::uint64_t n = 0; n < kAnswers; ++n) {  // one port, one cookie
    tape.add(standalone("10.9.0.1:1000", "10.0.0.1:51200", qs(tuple(n)).cookie(5), 0));
  }
  for (std::uint64_t n = 0; n < kAnswers; ++n) {
    tape.add(standalone("10.0.0.1:1000", "10.9.0.1:51200", rx(tuple(9000 + n)).cookie(5), 0));
  }
  CHECK(log.follower.queries().looked_at() - before <= 3 * kAnswers * dump::Queries::kMostAlike);
  CHECK(log.follower.queries().looked_at() > before);
}

TEST_CASE("an answer is found by header or by cookie where the other is wrong") {
  Fits report;
  Tape tape(report);
  const auto ask = [&](std::uint32_t cookie) {
    tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kSt1).cookie(cookie)));
  };
  ask(1);
  tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rs(kPair).cookie(2)));
  ask(3);
  tape.add(standalone("10.0.0.1:51200", "10.9.0.2:1000", rs(kPair).cookie(3)));
  ask(4);
  tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rx(kSt1).cookie(4)));
  tape.add(standalone("10.0.0.1:77", "10.9.0.2:51200", rx(kSt1).cookie(99)));
  CHECK(report.fits == std::vector<dump::Fit>{dump::Fit::header, dump::Fit::cookie, dump::Fit::whole, dump::Fit::none});
}

TEST_CASE("how long after its query an answer may come, and what else it may be") {
  const auto fit_of = [](std::uint32_t asked, std::int64_t later_ms, const char* from, const char* to,
                         const MessageBuilder& answer) {
    Fits report;
    Tape tape(report);
    tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kSt1).cookie(asked)));
    tape.wait_ms(later_ms).add(standalone(from, to, answer));
    REQUIRE(report.fits.size() == 1);
    return report.fits[0];
  };
  using dump::Fit;
  const char* const node = "10.9.0.2:51200";
  const Tuple other = tcp_tuple("203.0.113.9:1", "198.51.100.1:80");
  CHECK(fit_of(5, 50'000, "10.0.0.1:1000", node, rx(kSt1).cookie(5)) == Fit::whole);
  CHECK(fit_of(5, 50'000, "10.0.0.1:1000", node, rx(other).cookie(5)) == Fit::whole);
  CHECK(fit_of(5, 61'000, "10.0.0.1:1000", node, rx(kSt1).cookie(5)) == Fit::none);
  CHECK(fit_of(5, 900, "10.0.0.1:1000", node, rx(kSt1).cookie(6)) == Fit::header);
  CHECK(fit_of(5, 1'100, "10.0.0.1:1000", node, rx(kSt1).cookie(6)) == Fit::none);
  CHECK(fit_of(5, 0, "10.0.0.1:1000", node, rx(other).cookie(6)) == Fit::none);
  CHECK(fit_of(5, 50'000, "10.0.0.1:77", node, rx(kSt1).cookie(5)) == Fit::cookie);
  CHECK(fit_of(5, 0, "10.0.0.9:5", node, rs(kPair).cookie(5)) == Fit::cookie);
  CHECK(fit_of(5, 0, "10.0.0.9:1000", node, rs(kPair).cookie(5)) == Fit::none);  // of another query that was missed
  CHECK(fit_of(0, 0, "10.0.0.1:77", node, rx(kSt1).cookie(0)) == Fit::none);
}

TEST_CASE("a query that was answered isn't open: a second answer must have its cookie") {
  Fits report;
  Tape tape(report);
  tape.add(standalone("10.9.0.2:1000", "10.0.0.1:51200", qs(kSt1).cookie(5)));
  for (const std::uint32_t cookie : {5u, 98u}) {
    tape.add(standalone("10.0.0.1:1000", "10.9.0.2:51200", rx(kSt1).cookie(cookie)));
  }
  CHECK(report.fits == std::vector<dump::Fit>{dump::Fit::whole, dump::Fit::none});
}
