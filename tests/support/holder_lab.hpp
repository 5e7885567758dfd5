// SPDX-License-Identifier: BSD-3-Clause
// One HolderEngine on a fake clock with its twins. burst() feeds it, checks that each packet got exactly one verdict, and gives
// what came out; `quiet()` says that nothing did.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "asrp/packet/locate.hpp"
#include "asrp/packet/packet_view.hpp"
#include "asrp/packet/surgery.hpp"
#include "asrp/wire/decode.hpp"
#include "support/builders.hpp"
#include "support/holder_twins.hpp"

namespace asrp::test {

using engine::Direction;
using engine::HolderCounter;
using engine::LocalState;
using engine::OutputKind;
using wire::MsgType;

/// A copy of one output.
struct HolderOut {
  OutputKind kind;
  std::uint32_t number;  // of the packet
  std::uint32_t mark;
  Buffer octets;

  [[nodiscard]] packet::PacketView view() const {
    const auto parsed = packet::PacketView::parse(octets);
    if (!parsed) throw std::logic_error("an output is no packet");
    return *parsed;
  }
  /// The standalone message in it.
  [[nodiscard]] wire::Message message() const {
    const auto decoded = wire::decode(view().payload());
    if (!decoded) throw std::logic_error("an output is no message");
    return decoded->message;
  }
  /// The message that a packet of a flow carries.
  [[nodiscard]] wire::Message carried(const packet::Marker& marker = {}) const {
    const auto parsed = view();
    const auto located = packet::locate(parsed, marker);
    if (!located.found()) throw std::logic_error("an output carries no message");
    const auto room = octets_of_room(located);
    const auto decoded = parsed.is_tcp() ? wire::decode_prefix(room) : wire::decode(room);
    if (!decoded) throw std::logic_error("an output carries a bad message");
    return decoded->message;
  }

 private:
  [[nodiscard]] Octets octets_of_room(const packet::Located& located) const {
    return Octets(octets).subspan(located.message_offset, located.message_room);
  }
};

class HolderLab {
 public:
  static constexpr std::string_view kNode = "192.0.2.10";
  static constexpr std::string_view kNode6 = "2001:db8:0:2::10";

  explicit HolderLab(engine::HolderOptions options = default_options(), std::uint64_t seed = 1) : random(seed) {
    start(std::move(options));
  }

  static engine::HolderOptions default_options() {
    engine::HolderOptions options;
    options.local_ips = {address("10.0.0.1"), address("2001:db8:0:a::1")};
    options.nodes = {{address("192.0.2.0"), 24}, {address("2001:db8:0:2::"), 64}};
    return options;
  }

  /// A new engine over the same store: the daemon was started again.
  void start(engine::HolderOptions options = default_options()) {
    engine = std::make_unique<engine::HolderEngine>(std::move(options), store, sessions, paths, random, log, &act_store);
    engine->load(now);
  }

  HolderLab& in(Buffer packet) { return feed(Direction::inbound, std::move(packet)); }
  HolderLab& out(Buffer packet) { return feed(Direction::outbound, std::move(packet)); }
  HolderLab& message(const Buffer& octets, std::string_view from = "192.0.2.10:40000", std::string_view to = "10.0.0.1:51200") {
    engine->on_message(now, endpoint(from), endpoint(to), octets);
    return *this;
  }
  HolderLab& ended(const Tuple& session) {
    engine->on_session_end(now, session);
    return *this;
  }

  /// Ends the burst. Verdicts come in the order of the packets.
  std::vector<HolderOut> burst() {
    engine->flush(now);
    std::vector<HolderOut> outs;
    std::vector<std::uint32_t> verdicts;
    for (const engine::Output& output : engine->outbox().outputs()) {
      const Octets octets = engine->outbox().octets(output);
      outs.push_back({output.kind, output.packet.number, output.mark, Buffer(octets.begin(), octets.end())});
      if (!engine::is_send(output.kind)) verdicts.push_back(output.packet.number);
      CHECK(output.kind != OutputKind::send_flow);
    }
    std::vector<std::uint32_t> asked;
    for (std::uint32_t n = first_; n < next_; ++n) asked.push_back(n);
    CHECK(verdicts == asked);
    engine->outbox().clear();
    packets_.clear();
    first_ = next_;
    return outs;
  }
  /// The one output of the burst.
  HolderOut one() {
    auto outs = burst();
    REQUIRE(outs.size() == 1);
    return outs.front();
  }
  bool quiet() { return burst().empty(); }

  /// Lets time pass, calling on_timeout() when the engine wants it.
  void wait(Duration duration) {
    const TimePoint end = now + duration;
    for (;;) {
      const auto next = engine->next_timeout();
      if (!next || *next > end) break;
      now = std::max(now, *next);
      engine->on_timeout(now);
      CHECK(quiet());
    }
    now = end;
    engine->on_timeout(now);
    CHECK(quiet());
  }

  /// Asks with a QS; true if the answer is an RS, checked to be a proper answer.
  bool knows(const Tuple& tuple) {
    message(qs(tuple).cookie(++cookie_).build());
    const HolderOut answer = one();
    REQUIRE(answer.kind == OutputKind::send_own);
    REQUIRE(answer.message().cookie.value == cookie_);
    return answer.message().type == MsgType::RS;
  }

  [[nodiscard]] std::uint64_t count(HolderCounter counter) const { return engine->counters()[counter]; }
  [[nodiscard]] std::size_t backups() const { return engine->gauges().backups; }
  [[nodiscard]] std::size_t embryonic() const { return engine->gauges().embryonic; }

  MemoryStore store;
  MemoryStore act_store;
  FakeSessions sessions;
  FixedPaths paths;
  SeededRandom random;
  HolderEvents log;
  TimePoint now{std::chrono::hours(1)};
  std::unique_ptr<engine::HolderEngine> engine;

 private:
  HolderLab& feed(Direction direction, Buffer packet) {
    packets_.push_back(std::make_unique<Buffer>(std::move(packet)));  // stays where it is until the burst ends
    engine->on_packet(now, {0, next_++}, direction, *packets_.back());
    return *this;
  }

  std::vector<std::unique_ptr<Buffer>> packets_;
  std::uint32_t first_ = 1;
  std::uint32_t next_ = 1;
  std::uint32_t cookie_ = 0;
};

// --- sessions and packets that many tests use ------------------------------------------------------------------------------

/// nat: the client's address is kept.
inline TuplePair nat_session(std::string_view client = "203.0.113.7:50000", Protocol protocol = Protocol::tcp) {
  return {{endpoint(client), endpoint("198.51.100.1:80"), protocol}, {endpoint(client), endpoint("10.0.0.1:8080"), protocol}};
}
/// full-nat.
inline TuplePair full_nat_session(std::string_view client = "203.0.113.7:50000", std::string_view mapped = "10.9.0.1:2000",
                                  Protocol protocol = Protocol::tcp) {
  return {{endpoint(client), endpoint("198.51.100.1:80"), protocol}, {endpoint(mapped), endpoint("10.0.0.1:8080"), protocol}};
}
inline TuplePair nat_session6(Protocol protocol = Protocol::tcp) {
  return {{endpoint("[2001:db8:1::7]:50000"), endpoint("[2001:db8:ff::1]:80"), protocol},
          {endpoint("[2001:db8:1::7]:50000"), endpoint("[2001:db8:0:a::1]:8080"), protocol}};
}

inline TuplePair udp_session() { return nat_session("203.0.113.7:50000", Protocol::udp); }

/// `packet` with `message` put into it.
inline Buffer with_message(const Buffer& packet, const Buffer& message, const packet::Marker& marker = {}) {
  Buffer out;
  const auto view = packet::PacketView::parse(packet);
  if (!view || !packet::insert_inline(*view, marker, message, 1500, out)) throw std::logic_error("cannot insert");
  return out;
}
inline Buffer separate_with(const Buffer& packet, const Buffer& message, const packet::Marker& marker = {}) {
  Buffer out;
  const auto view = packet::PacketView::parse(packet);
  if (!view || !packet::make_separate(*view, marker, message, 1500, out)) throw std::logic_error("cannot separate");
  return out;
}
inline Buffer syn_of(const TuplePair& session) { return tcp(session.server_side).syn().options("020405b4").build(); }
inline Buffer datagram_of(const TuplePair& session) { return udp(session.server_side).payload("question").build(); }
/// The first packet of a session, with its NS inline.
inline Buffer syn_with(const TuplePair& session, const MessageBuilder& message) {
  return with_message(syn_of(session), message.build());
}
inline MessageBuilder ns_of(const TuplePair& session) { return ns(session).cookie(0xc0ffee).node(HolderLab::kNode); }

/// The first packet of a session comes with its NS, and a backup is made of it; what the host has of the session then.
inline void store(HolderLab& lab, const TuplePair& session, LocalState state = LocalState::none) {
  const Buffer packet = session.server_side.protocol == Protocol::tcp ? syn_of(session) : datagram_of(session);
  REQUIRE(lab.in(with_message(packet, ns_of(session).build())).one().kind == OutputKind::replace);
  if (state != LocalState::none) lab.sessions.known[session.server_side] = state;
}

}  // namespace asrp::test
